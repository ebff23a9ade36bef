"""One run of a program: its decisions, its trace, and where it stands."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from amplint.flow import program as ir
from amplint.protocol.events import STEPS, Event, Gate, Kind, Site
from amplint.protocol.precision import Precision
from amplint.protocol.values import with_changes
from amplint.state import event_parts
from amplint.state.blocks import Block, Yielded
from amplint.state.contexts import Ranks, Region
from amplint.state.decisions import Decision
from amplint.state.horizons import Horizons
from amplint.state.model import Model
from amplint.state.scopes import Module, Scope
from amplint.state.signals import Signal
from amplint.state.values import (
    Arguments,
    Class,
    Function,
    Gated,
    Instance,
    Keywords,
    Optimizer,
    Origin,
    Scaler,
    Scheduler,
    Stream,
    Value,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from amplint.state.event_parts import Told

_OF_FINITE = frozenset({Kind.BACKWARD, Kind.ZERO_GRAD, *STEPS})

MAX_STATEMENTS = 30_000
MAX_DEPTH = 14
_PASSED = {Kind.BACKWARD: 0, Kind.STEP: 1, Kind.SCALER_STEP: 1, Kind.EPOCH_END: 2}


class Cut(Exception):
    """The run has taken more steps than it may."""


class NothingLeft(Exception):
    """An iterator of known length has handed out all that it has."""


@dataclass(frozen=True)
class Machine:
    """What the parts of the interpreter ask of one another; `assembly` says which functions they are."""

    evaluate: Callable[[Run, Scope, ir.Expr], Value]
    execute: Callable[[Run, Scope, tuple[ir.Stmt, ...]], Signal]
    assign: Callable[[Run, Scope, ir.Expr, Value], None]
    invoke: Callable[[Run, Value, Arguments, Keywords, ir.Span], Value]
    read: Callable[[Run, Value, str], Value]
    instantiate: Callable[[Run, Class, Arguments, Keywords, ir.Span], Value]
    stream_of: Callable[[Run, Value], Stream]


@dataclass
class Run:
    """The state of one run.

    `passed`: the backward passes, updates and ends of epochs so far. `turns`: per text of what a loop is bounded by,
    what passes in one turn of it; `lengths`: per text of what loops went through, its length; `compared`: per symbol,
    the numbers that it was compared with, each with the backward passes and updates so far. `unsettled`: per text of a
    horizon, the detail of the event that made its scheduler; `prepared`: those details of schedulers that a framework
    steps; `early`: of those made before; `composed`: those of schedules of the program's own, with those of the numbers
    that enter them; `horizons`: what else is known of such numbers. `annotations`: what role those of parameters name.
    `doubts`: the updates so far, at each condition that may ask about the last one. `finite`: tests for numbers not
    finite whose branch runs; `large`: those for a norm beyond a limit. `late`: it begins in a later epoch than the
    first. `open_scales`: of a library, whose end takes them out. `batch_sizes`: of the loaders. `waiting`: the block of
    a `with` that its generator is to run. `taken`: the optimizer that unseen code has made a framework's.
    `passed_over`: a batch of the epoch was. `whole`: what runs is a framework's whole step. `called`: it began in a
    function that others call, in unseen contexts; `began`: that function. `per_call`: the parameters of a function that
    is called for each batch, perhaps with another value every time. `given`: those of all that it, and the constructor
    of its object, are given. `holders`: what objects that are not seen are known by into which a scaler was put.
    `caught`: the blocks that run in which what torch raises is caught. `stands_in`: what runs is a method of the user's
    in the place of a framework's. `endless`: a loop over batches never comes to an end; `left`: one was left early;
    `streamed`: loaders of no length. `loaded`: what loaders were made of, with what that says of its length.
    `branches`: those that the program is in. `places`: by what an object that is not seen is known by, what was put
    into it under which name; `touched`: by that, those called amid the batches; `remade`: by that, the optimizers and
    scalers that unseen code had before the batches. `frozen`: see `domains.freezing`; `halves`:
    `domains.parameter_dtypes`. `takes`: how deep the calls were where a `try` began that catches an iterator's end;
    `handed_out`: by identity, what `iter` made of something whose length is known, and how many of its elements `next`
    has taken. `told`: what objects are known by that were told a window. `owes`: a framework waits for a step that the
    program asks for; False once it may be asked unseen. `hooks`: those of a `forward` or a `backward` that take part.
    `within`: open contexts that are not seen and may take part. `idle`: the places of calls that did nothing. `asked`:
    decisions of what was not known, since the last loss went back. `shut`: gates that have not opened, as they stood at
    first, and how often. `telling`: decisions after which something happened, or that keep from leaving; `consulted`:
    all, as they were asked for. `grown`: by name, a growing number's first name. `beside`: what a run is told from.
    `closures`: by identity, functions that others made. `executed` but `shortened`: handed 1 by `windowless`.
    """

    program: ir.Program
    model: Model
    machine: Machine
    forced: dict[str, bool] = field(default_factory=dict)
    decisions: dict[str, Decision] = field(default_factory=dict)
    equal: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    stack: list[Site] = field(default_factory=list)
    gates: list[Gate] = field(default_factory=list)
    loop_gate: Gate | None = None
    branches: list[tuple[tuple[Site, ...], int]] = field(default_factory=list)
    optimizers: dict[str, Optimizer] = field(default_factory=dict)
    objects: dict[tuple[str, str], Value] = field(default_factory=dict)
    adopted: dict[str, Instance] = field(default_factory=dict)
    handed_gradients: dict[str, tuple[Event, frozenset[frozenset[str]]]] = field(default_factory=dict)
    applied_gradients: dict[str, Event] = field(default_factory=dict)
    annotated: dict[str, str] = field(default_factory=dict)
    annotations: dict[int, str | None] = field(default_factory=dict)
    executed: set[int] = field(default_factory=set)
    windowless: str = ""
    shortened: dict[int, str] = field(default_factory=dict)
    closures: dict[int, Function] = field(default_factory=dict)
    tick: int = 0
    turn: int = 0
    added_over: str = ""
    left: bool = False
    last_batch: bool = False
    in_batches: int = 0
    sometimes: int = 0
    takes: int | None = None
    asked: int = 0
    handed_out: dict[int, tuple[Stream, int]] = field(default_factory=dict)
    picked: int = 0
    over_batches: int = 0
    yielded: list[Yielded] = field(default_factory=list)
    waiting: Block | None = None
    made: int = 0
    hooked: bool = False
    hooks: set[str] = field(default_factory=set)
    assumed: bool = False
    without_graph: int = 0
    within: int = 0
    in_operator: int = 0
    loops: list[ir.Shape] = field(default_factory=list)
    region: Region = field(default=Region(Precision.OFF))
    entered: bool = False
    ranks: Ranks = field(default_factory=Ranks)
    defaults_changed: bool = False
    cost: int = 0
    neighbours: dict[str, Scope] = field(default_factory=dict)
    here: Module | None = None
    library_scopes: dict[str, Scope] = field(default_factory=dict)
    keepers: dict[str, Value] = field(default_factory=dict)
    handed: bool = False
    taken: Optimizer | None = None
    passed_over: bool = False
    whole: bool = False
    called: bool = False
    began: object = None
    per_call: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    holders: set[str] = field(default_factory=set)
    caught: int = 0
    stands_in: bool = False
    remarks: dict[str, str] = field(default_factory=dict)
    passed: list[int] = field(default_factory=lambda: [0, 0, 0])
    turns: dict[str, set[str]] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    compared: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)
    unsettled: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    prepared: list[dict[str, str]] = field(default_factory=list)
    horizons: Horizons = field(default_factory=Horizons)
    early: list[dict[str, str]] = field(default_factory=list)
    composed: list[tuple[list[dict[str, str]], dict[str, str]]] = field(default_factory=list)
    doubts: list[int] = field(default_factory=list)
    finite: int = 0
    large: int = 0
    late: bool = False
    open_scales: list[str] = field(default_factory=list)
    batch_sizes: set[str] = field(default_factory=set)
    endless: bool = False
    loaded: dict[str, frozenset[str]] = field(default_factory=dict)
    places: dict[str, dict[str, Value]] = field(default_factory=dict)
    frozen: dict[str, bool | None] = field(default_factory=dict)
    halves: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    remade: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    streamed: set[str] = field(default_factory=set)
    owes: bool | None = None
    idle: set[Site] = field(default_factory=set)
    shut: dict[ir.Span, tuple[Gated, int]] = field(default_factory=dict)
    consulted: list[str] = field(default_factory=list)
    telling: set[str] = field(default_factory=set)
    grown: dict[str, tuple[str, int]] = field(default_factory=dict)
    beside: Sequence[Event] = ()

    @property
    def choices(self) -> dict[str, bool]:
        """What was decided, in the order in which it was first asked."""
        return {decision.key: decision.value for decision in self.decisions.values()}

    @property
    def turned(self) -> frozenset[str]:
        """The decisions that were taken otherwise than by default."""
        return frozenset(decision.key for decision in self.decisions.values() if decision.turned)

    @property
    def barren(self) -> bool:
        """Whether the run ended before any backward: what was decided in it may matter for all that follows."""
        return self.passed[0] == 0

    @cached_property
    def elsewhere(self) -> bool:
        """Whether what there is of a backward in the run is left to somebody else."""
        return self.barren and any("left to" in event.detail for event in self.events)

    @property
    def stepless(self) -> bool:
        """Whether something was back-propagated, and nothing has stepped, though something in the module may."""
        seen = self.program.takers and all(event.kind is not Kind.OPAQUE for event in self.events)
        return bool(seen) and self.passed[0] > 0 == self.passed[1]

    @cached_property
    def happened(self) -> Hashable:
        """All that happened by the end of the run, in a form that is quick to compare."""
        return event_parts.happened(self.events)

    def evaluate(self, scope: Scope, node: ir.Expr) -> Value:
        """The value of an expression."""
        return self.machine.evaluate(self, scope, node)

    def execute(self, scope: Scope, body: tuple[ir.Stmt, ...]) -> Signal:
        """Runs statements until one of them jumps."""
        return self.machine.execute(self, scope, body)

    def assign(self, scope: Scope, target: ir.Expr, value: Value) -> None:
        """`target = value`."""
        self.machine.assign(self, scope, target, value)

    def invoke(self, func: Value, args: Arguments, keywords: Keywords, at: ir.Span) -> Value:
        """The value of calling a value."""
        return self.machine.invoke(self, func, args, keywords, at)

    def read(self, owner: Value, name: str) -> Value:
        """`owner.name`."""
        return self.machine.read(self, owner, name)

    def instantiate(self, klass: Class, args: Arguments, keywords: Keywords, at: ir.Span) -> Value:
        """A new object of a class of the program, its constructor run."""
        return self.machine.instantiate(self, klass, args, keywords, at)

    def stream_of(self, value: Value) -> Stream:
        """A value as something to iterate over."""
        return self.machine.stream_of(self, value)

    def site(self, at: ir.Span) -> Site:
        """A span of the code that runs as a site; what a library does, happens where it was called."""
        if self.in_library:
            return self.stack[-1] if self.stack else Site(self.program.path, 0)
        return Site(self.path, *at)

    @property
    def path(self) -> str:
        """The path of the file that the code that runs stands in."""
        return self.program.path if self.here is None else self.here.path

    @property
    def born(self) -> tuple[int, int]:
        """The micro-step that a loss is made in now, and the turn of a loop that only adds losses up."""
        return self.tick, self.turn

    @property
    def in_library(self) -> bool:
        """Whether the code that runs tells what a library does."""
        return self.here is not None and self.here.library

    @property
    def in_framework(self) -> bool:
        """Whether the code that runs tells what a framework does."""
        return self.here is not None and self.here.framework

    @contextmanager
    def calling(self, module: Module | None, at: ir.Span) -> Iterator[None]:
        """While it is open, a function of a module runs, called at a place of the module that ran before."""
        before, pushed = self.here, not self.in_library
        if pushed:
            self.stack.append(self.site(at))
        self.here = module
        try:
            yield
        finally:
            self.here = before
            if pushed:
                self.stack.pop()

    def branch(self, at: ir.Span, number: int) -> None:
        """Goes into a branch of a condition at a place, to the end of the block; what a library does has no place."""
        if not self.in_library:
            self.branches.append(((*self.stack, self.site(at)), number))

    def count(self) -> None:
        """Counts a statement. Raises Cut when the run has become too long."""
        self.cost += 1
        if self.cost > MAX_STATEMENTS:
            raise Cut

    def name(self, base: str) -> str:
        """A key that no other object of this run has."""
        self.made += 1
        return f"{base}#{self.made}"

    def asks(self, at: ir.Span, gate: Gated) -> None:
        """Notes what a gate says: one that stands where it stood may never open."""
        first, times = self.shut.get(at, (gate, 0))
        moves = gate.value or gate.assumed or gate.place is None or gate.place != first.place
        self.shut[at] = (with_changes(first, place=None) if moves else first), times + 1

    def decide(self, key: str, origin: Origin, default: bool = True) -> bool:
        """The value of a condition for this run; the same each time it is asked."""
        if key not in self.decisions:
            value = self.forced.get(key, default)
            self.decisions[key] = Decision(key, value, origin, value is not default)
        self.asked += origin is not Origin.RUN
        self.consulted.append(key)
        return self.decisions[key].value

    def equals(self, left: str, right: str, origin: Origin) -> bool:
        """Whether a symbol is equal to a constant in this run: to one constant at most."""
        if left in self.equal:
            return self.equal[left] == right
        if answer := self.decide(f"{left} == {right}", origin):
            self.equal[left] = right
        return answer

    def emit(
        self,
        kind: Kind,
        at: ir.Span,
        optimizer: Optimizer | None = None,
        scaler: Scaler | None = None,
        scheduler: Scheduler | None = None,
        weight: Fraction | None = None,
        **rest: Unpack[Told],
    ) -> None:
        """Adds an event to the trace; of a governed optimizer, which is not ours to judge, that it stepped, or that the
        scale may be out of its gradients."""
        if optimizer is not None and optimizer.governed:
            if kind not in STEPS and kind is not Kind.UNSCALE:
                return
            kind, rest = Kind.OPAQUE, {"detail": {"steps": "yes"} if kind in STEPS else {}}
        if kind is Kind.ZERO_GRAD and self.program.restores:
            kind = Kind.OPAQUE  # what was put aside before comes back
        if details := self._details(kind, optimizer) | (scaler.marks if scaler else {}):
            rest["detail"] = {**rest.get("detail", {}), **details}
        event = Event(
            kind,
            self.site(at),
            optimizer.key if optimizer else None,
            scaler.key if scaler else None,
            scheduler.key if scheduler else None,
            weight=weight,
            gate=self._gate(kind),
            stack=tuple(self.stack[:-1] if self.in_library else self.stack),
            maker=scaler.maker if scaler else (),
            parameters=event_parts.parameters(kind, optimizer, scaler),
            repeats=self.in_batches > 0,
            region=self.region.precision,
            branches=frozenset(self.branches) if kind is Kind.BACKWARD else frozenset(),
            **rest,
        )
        self.events.append(event)
        self.asked = 0 if kind is Kind.BACKWARD else self.asked
        if kind in _PASSED:
            self.passed[_PASSED[kind]] += 1

    def _details(self, kind: Kind, optimizer: Optimizer | None) -> dict[str, str]:
        """What is true of an event because of where the run is."""
        found: dict[str, str] = {}
        if self.here is not None and self.here.library:
            found |= {**self.here.detail, **self.remarks}
        elif self.open_scales:
            found |= {"framework": self.open_scales[-1], **({"within": "yes"} if kind is Kind.CLIP else {})}
        if (self.finite or self.large) and kind in _OF_FINITE:
            found |= {"finite": "asked"} if self.finite else {}
            found |= {"large": "asked"} if self.large else {}
        if self.late and kind is Kind.SCHEDULER_STEP:
            found["late"] = "yes"
        if self.ranks.guards and kind in event_parts.OF_RANKS:
            found |= event_parts.on_some_ranks(self.ranks, self.branches)
        return {**found, **optimizer.due} if optimizer is not None and kind in STEPS else found

    def _gate(self, kind: Kind) -> Gate | None:
        return self.gates[-1] if self.gates else self.loop_gate if kind in STEPS else None
