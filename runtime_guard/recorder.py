"""From calls to events of the protocol, and from events to violations.

Everything that is kept between calls is kept under one lock; what says where a thread is stands in that thread.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import CodeType
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from amplint.catalogue.rule import Rule
from amplint.protocol.cadence import Cadence
from amplint.protocol.events import STEPS, Event, Gate, Kind, Site
from amplint.protocol.facts import Fact
from amplint.protocol.ledger import Grads, Ledger, Stage
from amplint.protocol.readings import Reading
from amplint.protocol.state import Moment, State
from amplint.protocol.values import with_changes
from runtime_guard.crossing import Crossings
from runtime_guard.gates import Gates
from runtime_guard.gradients import Watch
from runtime_guard.hooks import Shield, family
from runtime_guard.late_division import mark_passed, quotient_in
from runtime_guard.normalization import Normalization
from runtime_guard.planned import parts_of, said_of
from runtime_guard.precision import Precisions
from runtime_guard.questions import Questions
from runtime_guard.roles import Names, Owners, parameters_of
from runtime_guard.sites import Sites
from runtime_guard.tally import Tally
from runtime_guard.threads import Thread, calling_frame
from runtime_guard.timeline import Timelines
from runtime_guard.totals import Totals, kept_in
from runtime_guard.violations import Violation, violation_of

Stack = tuple[Site, ...]
__all__ = ["Recorder", "Stack", "calling_frame"]

_CALLS = frozenset({Kind.CREATE, Kind.UNSCALE, Kind.ZERO_GRAD, *STEPS})  # in which the user names the optimizer
_GATED = frozenset({Kind.BACKWARD, Kind.ZERO_GRAD, *STEPS})
_BLANK = Event(Kind.CREATE, Site("", 0))
_FIRST_PASSES = 8


class Recorder:
    """Turns calls into events, feeds them to the protocol and asks the rules of every moment."""

    def __init__(
        self,
        rules: Mapping[str, Rule],
        found: Callable[[Violation], None],
        measures: Shield,
        accumulation_steps: int | None = None,
        probe_every: int = 16,
    ) -> None:
        self._rules = tuple(rules.values())
        self._questions = Questions(self._rules)
        self._observers = tuple(rule for rule in self._rules if rule.observe is not None)
        self._found = found
        self.accumulation_steps = accumulation_steps
        self._held: dict[str, list[Violation]] = {}
        self._tensors: dict[str, frozenset[int]] = {}
        self.passes = 0
        self.training: set[CodeType | None] = set()
        self.lock = threading.RLock()
        self.measures, self.numbers = measures, Normalization(max(probe_every, 1), accumulation_steps)
        self.measures.on = probe_every > 0
        self.sites = Sites(torch.__path__[0])
        self._gates = Gates(self.sites)
        self.state, self.tally, self.thread = State(), Tally(), Thread()
        self.timelines = Timelines()
        self.optimizers, self.scalers, self.schedulers = Names("optimizer"), Names("scaler"), Names("scheduler")
        self.makers: dict[str, Stack] = {}
        self.at_end: list[Callable[[], None]] = []
        self._first_scales: dict[Stack, object] = {}
        self.owners, self.totals, self.precisions = Owners(), Totals(), Precisions()
        self.watches: dict[str, Watch] = {}
        self.crossings = Crossings()
        self._threads: dict[str, int] = {}
        self._several = False
        self._candidates: list[weakref.ref[Any]] = []
        self._stacks: set[Stack] = set()

    # --- events -------------------------------------------------------------------------------------------------------

    def feed(self, kind: Kind, *, stack: Stack | None = None, token: list[Moment] | None = None, **parts: Any) -> None:
        """One event, and the questions of all rules about its moments, which are left in `token`."""
        stack = stack if stack is not None else self.sites.stack()
        event = with_changes(_BLANK, kind=kind, site=stack[-1], stack=stack[:-1], **parts)
        if self.thread.closure is not None and self._repeated(event):
            return
        with self.lock:
            if kind in _GATED:
                event = with_changes(event, gate=self._gate(event))
            if kind in _CALLS and event.optimizer is not None:
                self._stepped_here(event.optimizer)
                self._crossed(event)
            moments = list(self.state.moments(event))
            if token is not None:
                token += moments
            self.tally.count(event, self.state)
            self.timelines.add(event, self.state)
            for moment in moments:
                self._judge(moment)
            if kind in STEPS:
                for violation in self._held.pop(event.optimizer or "", ()):
                    self._found(violation)

    def _crossed(self, event: Event) -> None:
        """The events of models through which the last backward went on its way to what steps now."""
        name = event.optimizer or ""
        for other, place in self.crossings.stepped(name) if event.kind in STEPS else ():
            self.feed(Kind.PASS, stack=place, optimizer=other)
        if event.kind is Kind.ZERO_GRAD:
            self.crossings.erased(name)

    def _repeated(self, event: Event) -> bool:
        """Whether a closure does again what it has done in this step: the optimizer may evaluate it many times."""
        assert self.thread.closure is not None
        done = (event.kind, event.step_of_program, event.optimizer)
        repeated = done in self.thread.closure
        self.thread.closure.add(done)
        return repeated

    def _gate(self, event: Event) -> Gate | None:
        """The gate in the source; where there is none, what happens may show that there is one."""
        gate = self._gates.of(event.step_of_program)
        ledger = self.state.ledgers.get(event.optimizer or "")
        if gate is not None or ledger is None or event.kind is Kind.BACKWARD:
            return gate
        window, backward = ledger.window, self.state.last.get(event.optimizer or "", {}).get(Kind.BACKWARD)
        if event.kind in STEPS:
            return Gate(event.site) if window.micro_steps > 1 else None
        weight = backward.weight if backward is not None else None
        share = window.restacked + 1  # steps since the last erasure: was the loss divided by as many?
        return Gate(event.site) if weight and window.restacked > 1 and abs(float(weight) * share - 1) < 1e-6 else None

    def _judge(self, moment: Moment) -> None:
        for rule in self._questions.broken(moment):
            self._tell(violation_of(rule, moment), moment)
        if moment.event.reading is not None or moment.event.kind is Kind.END:
            self.observe(moment)

    def _tell(self, violation: Violation, moment: Moment) -> None:
        """Holds back what is said of an optimizer that has not stepped while others have the same parameters: it may be
        one that is never used."""
        name = moment.name
        self.timelines.wrong(name, violation.code, violation.site)
        sure = moment.of_scheduler or moment.event.kind in STEPS or moment.ledger.window.steps > 0
        if sure or not self._sharing(name):
            self._found(violation)
        else:
            self._held.setdefault(name, []).append(violation)

    def _sharing(self, name: str) -> set[str]:
        """The other optimizers that step some of the same tensors."""
        for thing, other in self.optimizers.living():
            self._tensors[other] = self.owners.ids(thing)  # kept: at the end of the run it may be gone
        mine = self._tensors.get(name, frozenset())
        return {other for other, ids in self._tensors.items() if other != name and ids & mine}

    def observe(self, moment: Moment, reading: Reading | None = None) -> None:
        """Asks the rules about numbers; `reading` is one that was not known when the moment came."""
        if reading is not None:
            moment = replace(moment, event=replace(moment.event, reading=reading))
        for rule in self._observers:
            words = rule.observe(moment) if rule.observe is not None else None
            if words is not None:
                self._tell(violation_of(rule, moment, words), moment)

    def fact(self, fact: Fact) -> None:
        """Asks the rules about the arguments of a call."""
        moment = Moment(Event(Kind.CREATE, fact.site), Ledger(), Cadence(), {})
        for rule in self._rules:
            words = rule.find(fact) if rule.find is not None else None
            if words is not None:
                self._found(violation_of(rule, moment, words))

    # --- who is who ---------------------------------------------------------------------------------------------------

    def optimizer(self, optimizer: Any, made: bool = False) -> str:
        """The name of an optimizer; the first time it is seen, the event that makes it known."""
        name = self.optimizers.of(optimizer)
        if name is not None:
            return name
        with self.lock:
            self.owners.forget(optimizer)
            ids = self.owners.ids(optimizer)
            shared = [other for thing, other in self.optimizers.living() if ids and self.owners.ids(thing) == ids]
            name = self.optimizers.give(optimizer, shared[0] if shared else None)
            watch = self.watches[name] = Watch(optimizer)
            self._tensors[name] = self._tensors.get(name, frozenset()) | ids
            decays = any(group.get("weight_decay") for group in getattr(optimizer, "param_groups", ()))
            detail = {"algorithm": type(optimizer).__name__, "decays": "yes" if decays else "no"}
            self.tally.optimizers[name] = type(optimizer).__name__
            self.feed(Kind.CREATE, optimizer=name, detail=detail)
            if not made and not watch.empty:  # what they are was decided before anybody looked
                known = self.state.ledgers[name]
                self.state.ledgers[name] = with_changes(known, grads=Grads.UNKNOWN, stage=Stage.UNKNOWN, fresh=False)
        return name

    def find_optimizers(self) -> None:
        """Looks for optimizers that were made before the guard began; which of them are in use will show."""
        classes = frozenset(family(Optimizer))
        found = [thing for thing in gc.get_objects() if type(thing) in classes and parameters_of(thing)]
        self._candidates = [weakref.ref(thing) for thing in found]

    def candidates(self) -> list[Any]:
        """Optimizers that were made before the guard began and are not known yet; none after a few backward passes."""
        if not self._candidates or self.passes >= _FIRST_PASSES:
            self._candidates = []
            return []
        found = [reference() for reference in self._candidates]
        return [thing for thing in found if thing is not None and self.optimizers.of(thing) is None]

    def scaler(self, scaler: Any) -> str:
        """The name of a scaler."""
        with self.lock:
            name = self.scalers.of(scaler) or self.scalers.give(scaler)
            self.tally.scalers.setdefault(name, [0, 0])
        return name

    def scaler_made(self, scaler: Any, first_scale: object) -> None:
        """Where a scaler was made, unless it begins at another scale than the one before: it may go on from there."""
        place, name = self.sites.stack(), self.scalers.of(scaler) or self.scalers.give(scaler)
        self.makers.pop(name, None)
        if self._first_scales.setdefault(place, first_scale) == first_scale:
            self.makers[name] = place

    def scheduler(self, scheduler: Any, made: bool = False) -> tuple[str, str | None]:
        """The names of a scheduler and of the optimizer that it drives."""
        driven = getattr(scheduler, "optimizer", None)
        optimizer = self.optimizer(driven) if driven is not None else None
        name = self.schedulers.of(scheduler)
        if name is None:
            with self.lock:
                name = self.schedulers.give(scheduler)
                self.tally.schedulers[name] = (type(scheduler).__name__, 0)
                self._introduce(name, optimizer, scheduler, made)
        return name, optimizer

    def _introduce(self, name: str, optimizer: str | None, scheduler: Any, made: bool) -> None:
        self.feed(Kind.CREATE, optimizer=optimizer, scheduler=name, detail=said_of(scheduler))
        for part in parts_of(scheduler):  # they are stepped by this one, perhaps not before long
            part_name, driven = self.scheduler(part)
            self.feed(Kind.SCHEDULER_TOLD, optimizer=driven, scheduler=part_name)
        ledger = self.state.ledgers.get(optimizer or "")
        if not made and ledger is not None and ledger.window.steps:
            known = self.state.cadences[name]
            self.state.cadences[name] = replace(known, updates=ledger.window.steps)

    def owners_of(self, tensors: Iterable[Tensor]) -> list[tuple[Any, str]]:
        """The optimizers that step any of the tensors, one for each name."""
        tensors = list(tensors)
        found = {name: thing for thing, name in self.optimizers.living() if self.owners.owns_any(thing, tensors)}
        return [(thing, name) for name, thing in found.items()]

    def owners_by_tensor(self) -> dict[int, str]:
        """The optimizer of each parameter, by its identity; of those that several step, none."""
        found: dict[int, str] = {}
        for thing, name in self.optimizers.living():
            for known in self.owners.ids(thing):
                found[known] = name if found.get(known, name) == name else ""
        return {known: name for known, name in found.items() if name}

    # --- gradients ----------------------------------------------------------------------------------------------------

    def _stepped_here(self, name: str) -> None:
        """Whose thread an optimizer belongs to."""
        here = threading.get_ident()
        if self._threads.get(name) != here:
            self._threads[name] = here
            self._several = len(set(self._threads.values())) > 1

    def mine(self) -> list[tuple[Any, str]]:
        """The optimizers that no other living thread steps or zeroes: what theirs do is not seen from here."""
        here = threading.get_ident()
        strange: set[str] = set()
        if self._several or here not in self._threads.values():
            alive = {thread.ident for thread in threading.enumerate()} - {here}
            strange = {name for name, thread in self._threads.items() if thread in alive}
        return [(thing, name) for thing, name in self.optimizers.living() if name not in strange]

    def look(self) -> None:
        """Makes events of what has happened to gradients by hand since the last event."""
        for thing, name in self.mine():
            news = self.watches[name].news()
            if news == "gone":
                self.gone(thing, name)
            elif news == "changed":
                self.feed(Kind.OPAQUE, optimizer=name)

    def gone(self, optimizer: Any, name: str) -> None:
        """The event of gradients that were dropped by hand."""
        self.feed(Kind.ZERO_GRAD, optimizer=name, detail={"by_hand": "yes"})
        self.measures.run(self.numbers.erased, optimizer)

    def seen(self) -> None:
        """Takes the gradients as they are now for known."""
        for _, name in self.mine():
            self.watches[name].see()

    def passed(self, roots: Iterable[Tensor], stack: Stack) -> None:
        """Marks what was back-propagated, so that a division of it that comes too late is known by its graph."""
        self.passes += 1
        if stack not in self._stacks:
            self._stacks.add(stack)
            self.training |= {self.sites.code_of.get(site) for site in self.sites.chain.get(stack, stack)}
        roots = list(roots)
        for root in roots:
            if root.grad_fn is not None:
                mark_passed(root.grad_fn)
        if self.totals.passed(roots):
            for kept in kept_in(self.sites.frames()):
                detail = {"name": kept.name, "held": str(kept.held), "passed": "yes"}
                detail |= {"bounded": "yes"} if kept.bounded else {}
                self.feed(Kind.KEEP, stack=(*stack[:-1], kept.site), total=str(kept.site), detail=detail)

    def divided_late(self, name: str) -> None:
        """The event of a loss that was back-propagated whole, if the user's frames hold a quotient of it."""
        window, last = self.state.ledgers[name].window, self.state.last.get(name, {}).get(Kind.BACKWARD)
        if window.micro_steps < 2 or last is None:
            return
        whole = any(weight and abs(float(weight) / window.micro_steps - 1) < 1e-6 for _, weight in window.weights)
        if whole and quotient_in(self.sites.frames()):
            self.feed(Kind.LOSS_DIVIDED, optimizer=name, stack=last.step_of_program)

    def settle(self, wait: bool = False) -> None:
        """Asks the rules about numbers of a device that have arrived."""
        for token, reading in self.measures.run(self.numbers.settled, wait, default=()):
            for moment in token if isinstance(token, list) else ():
                self.observe(moment, reading)

    def _relieve(self) -> None:
        """A scheduler that another one of the same optimizer steps for was perhaps never meant to step in this run."""
        cadences, drives = self.state.cadences, self.state.drives
        moved = {drives[name] for name, cadence in cadences.items() if cadence.cadence_steps or cadence.told}
        for name, cadence in cadences.items():
            if drives[name] in moved:
                cadences[name] = replace(cadence, told=max(cadence.told, 1))

    def end(self) -> None:
        """The end of the run, for the rules that look back. What was held back of an unused optimizer is dropped."""
        self.look()
        self._relieve()
        for told in self.at_end:
            told()
        self.feed(Kind.END, stack=(Site("<end of the run>", 0),))
        for name, found in self._held.items():
            if not any(self.state.ledgers[other].window.steps for other in self._sharing(name)):
                for violation in found:
                    self._found(violation)
