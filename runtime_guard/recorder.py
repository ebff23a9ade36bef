"""From calls to events of the protocol, and from events to violations.

Everything that is kept between calls is kept under one lock; what says where a thread is stands in that thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import CodeType
from typing import Any

import torch
from torch import Tensor

from amplint.catalogue.rule import Rule
from amplint.protocol.cadence import Cadence
from amplint.protocol.events import STEPS, Event, Gate, Kind, Site
from amplint.protocol.facts import Fact
from amplint.protocol.ledger import Grads, Ledger, Stage
from amplint.protocol.readings import Reading, WindowReading
from amplint.protocol.state import Moment, State
from amplint.protocol.values import with_changes
from runtime_guard.alike import Alike
from runtime_guard.by_hand import ByHand
from runtime_guard.course import Course
from runtime_guard.crossing import Crossings
from runtime_guard.distributed import Ranks
from runtime_guard.frameworks import Frameworks
from runtime_guard.gates import Gates
from runtime_guard.gradients import Watch
from runtime_guard.hooks import Shield
from runtime_guard.idle import never_read
from runtime_guard.in_step import InStep
from runtime_guard.late_division import mark_passed
from runtime_guard.late_weights import arrived, broken_late
from runtime_guard.normalization import Normalization
from runtime_guard.owners import Owners
from runtime_guard.planned import parts_of, said_of
from runtime_guard.precision import Precisions
from runtime_guard.put_off import PutOff
from runtime_guard.questions import Questions
from runtime_guard.roles import Early, Names, driven_by, inner, together
from runtime_guard.sharing import Sharing
from runtime_guard.sites import Sites
from runtime_guard.tally import Tally
from runtime_guard.threads import Homes, Thread, calling_frame, lock
from runtime_guard.totals import Totals, kept_in
from runtime_guard.turns import Turns
from runtime_guard.underway import Underway
from runtime_guard.violations import Violation, violation_of

Stack = tuple[Site, ...]
__all__ = ["Recorder", "Stack", "calling_frame"]

_CALLS = frozenset({Kind.CREATE, Kind.UNSCALE, Kind.ZERO_GRAD, *STEPS})  # in which the user names the optimizer
_GATED = frozenset({Kind.BACKWARD, Kind.ZERO_GRAD, *STEPS})
_FIRST_PASSES, _NO_DETAIL = 8, dict[str, str]()


class Recorder:
    """Turns calls into events, feeds them to the protocol and asks the rules of every moment."""

    def __init__(
        self,
        rules: Mapping[str, Rule],
        found: Callable[[Violation], None],
        measures: Shield,
        accumulation_steps: int | None = None,
        probe_every: int = 16,
        at_once: bool = False,
    ) -> None:
        self.questions = Questions(rules.values())
        self._found, self.accumulation_steps = found, accumulation_steps
        self._held, self._tensors = dict[str, list[Violation]](), dict[str, frozenset[int]]()
        self.passes, self.reached = 0, frozenset[str]()
        self.training: set[CodeType | None] = set()
        self.lock = lock()
        measures.on = probe_every > 0
        self.measures, self.numbers = measures, Normalization(max(probe_every, 1), accumulation_steps)
        self.sites = Sites(torch.__path__[0])
        self.gates, self.frameworks = Gates(self.sites), Frameworks(self.sites)
        first = State(unasked=self.questions.unasked)
        self.course = Course(first, self._judge, self.questions.wrong, self._stepped, at_once)
        self.put_off = PutOff(self.measures, self.numbers, self.course)
        self.thread, self._alike = Thread(), Alike()
        self.optimizers, self.scalers, self.schedulers = Names("optimizer"), Names("scaler"), Names("scheduler")
        self.numbers.number = self.optimizers.number
        self.makers, self.doubled = dict[str, Stack](), dict[str, dict[str, str]]()
        self.at_end, self._first_scales = list[Callable[[], None]](), dict[Stack, object]()
        self.owners, self.totals, self.precisions, self.turns = Owners(), Totals(), Precisions(), Turns()
        self.watches = dict[str, Watch]()
        self.crossings, self.ranks, self.sharing = Crossings(), Ranks(), Sharing()
        self.homes, self.by_hand, self._stacks = Homes(), ByHand(self), set[Stack]()
        self.underway, self.in_step = Underway(self.frameworks.has, self.sites.frames), InStep(self)
        self._early: Early | None = None

    # --- events -------------------------------------------------------------------------------------------------------

    def feed(
        self,
        kind: Kind,
        *,
        stack: Stack | None = None,
        token: list[Moment] | None = None,
        detail: dict[str, str] | None = None,
        reading: Reading | None = None,
        **parts: Any,
    ) -> None:
        """One event, and the questions of all rules about its moments, which are left in `token`."""
        place = stack if stack is not None else self.sites.stack()
        detail = self.frameworks.told(place, detail if detail is not None else _NO_DETAIL)
        with self.lock:
            optimizer = parts.get("optimizer")
            repeats = self.thread.closure is not None
            if kind in _CALLS and optimizer is not None and not repeats:
                self._used(kind, optimizer)
            if not repeats and (beat := self.course.follows(kind, place, parts, detail, reading)) is not None:
                moments = beat.moments
            else:
                gate = self._gate(kind, place, optimizer or "") if kind in _GATED else None
                event = self._alike.event(kind, place, gate, detail, reading, parts)
                if repeats:
                    if self.thread.repeated(event, self.turns.loops_in(self.thread.code, self.sites.frames())):
                        return
                    if kind in _CALLS and optimizer is not None:
                        self._used(kind, optimizer)
                moments = self.course.takes(kind, place, parts, event)
            if token is not None:
                token += moments

    @property
    def state(self) -> State:
        """What is true now."""
        return self.course.state

    @property
    def tally(self) -> Tally:
        """What was counted until now."""
        return self.course.tally

    def _stepped(self, event: Event) -> None:
        """What was held back of an optimizer that steps is told."""
        for violation in self._held.pop(event.optimizer or "", ()) if self._held else ():
            self._found(violation)

    def _used(self, kind: Kind, name: str) -> None:
        """Whose optimizer it is, unless it is only made; and the models that the last backward has passed."""
        if kind is not Kind.CREATE:
            self.homes.stepped(name)
        for other, place in self.crossings.stepped(name) if kind in STEPS else ():
            self.feed(Kind.PASS, stack=place, optimizer=other)
        if kind is Kind.ZERO_GRAD:
            self.crossings.erased(name)

    def gate_of(self, place: Stack) -> Gate | None:
        """The gate in the source of a place."""
        return self.gates.of(place) if place not in self.frameworks.looped else None

    def _gate(self, kind: Kind, place: Stack, optimizer: str) -> Gate | None:
        """The gate in the source; where there is none, what happens may show that there is one."""
        gate, ledger = self.gate_of(place), self.state.ledgers.get(optimizer)
        if gate is not None or ledger is None or kind is Kind.BACKWARD:
            return gate
        window = ledger.window
        if kind in STEPS:
            return self.gates.at(place[-1]) if window.micro_steps > 1 else None
        if window.restacked < 2 or window.longest > 1:
            return None
        backward = self.state.last.get(optimizer, {}).get(Kind.BACKWARD)
        weight = backward.weight if backward is not None else None
        share = window.restacked + 1  # steps since the last erasure: was the loss divided by as many?
        return self.gates.at(place[-1]) if weight and abs(float(weight) * share - 1) < 1e-6 else None

    def _judge(self, moment: Moment) -> bool:
        """Tells what a moment breaks. Returns whether it breaks anything."""
        broken = self.questions.broken(moment)
        for rule in broken:
            self._tell(violation_of(rule, moment), moment)
        return self.observe(moment) or bool(broken)

    def _tell(self, violation: Violation, moment: Moment) -> None:
        """Holds back what is said of one that has not stepped while others share its parameters: it may be unused."""
        name = moment.name
        self.course.timelines.wrong(name, violation.code, violation.site)
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

    def observe(self, moment: Moment, reading: Reading | None = None) -> bool:
        """Tells what the rules about numbers say, and returns whether they said anything."""
        if reading is not None:
            moment = with_changes(moment, event=with_changes(moment.event, reading=reading))
        found = self.questions.observed(moment)
        for rule, words in found:
            self._tell(violation_of(rule, moment, words), moment)
        return bool(found)

    def window(self, name: str, optimizer: Any, reading: Reading | None) -> None:
        """A window ends with the step that is to come, or to be skipped."""
        measured = reading if isinstance(reading, WindowReading) else None
        if not self.ranks.alone:
            self.ranks.window(name, self.owners.ids(optimizer), self.state.ledgers[name].window.micro_steps, measured)

    def compare(self) -> None:
        """Asks the rules about what the ranks have told each other."""
        for name, reading in self.ranks.readings.items():
            known = self.state.last.get(name, {})
            if name in self.ranks.bypassed and (backward := known.get(Kind.BACKWARD)):
                self.feed(Kind.BYPASS, stack=backward.step_of_program)
            if event := known.get(Kind.STEP):
                self.observe(Moment(event, self.state.ledgers[name], Cadence(), dict(known), name=name), reading)

    def fact(self, fact: Fact) -> None:
        """Asks the rules about the arguments of a call."""
        for rule, words in self.questions.told(fact):
            self._found(violation_of(rule, Moment(Event(Kind.CREATE, fact.site), Ledger(), Cadence(), {}), words))

    # --- who is who ---------------------------------------------------------------------------------------------------

    def optimizer(self, optimizer: Any, made: bool = False) -> str:
        """The name of an optimizer; the first time it is seen, the event that makes it known."""
        name = self.optimizers.of(optimizer)
        if name is not None or (held := inner(optimizer)) is not optimizer:
            return name or self.optimizer(held, made)
        with self.lock:
            self.owners.forget(optimizer)
            ids = self.owners.ids(optimizer)
            shared = [pair for pair in self.optimizers.living() if ids and self.owners.ids(pair[0]) == ids]
            name = self.optimizers.give(optimizer, shared[0][1] if shared else None)
            self.doubled |= {name: {"one_of_several": "yes"}} if shared else {}
            watch = self.watches[name] = Watch(optimizer)
            self._tensors[name] = self._tensors.get(name, frozenset()) | ids
            decays = any(group.get("weight_decay") for group in getattr(optimizer, "param_groups", ()))
            detail = {"algorithm": type(optimizer).__name__, "decays": "yes" if decays else "no"}
            kinds = self.course.counted.optimizers
            kinds[name] = together(kinds.get(name, detail["algorithm"]), detail["algorithm"])
            for thing, _ in shared[:1]:
                self.measures.run(self.numbers.shares, optimizer, thing)
            self.feed(Kind.CREATE, optimizer=name, detail=detail)
            if not made and not watch.empty:  # what they are was decided before anybody looked
                known = self.state.ledgers[name]
                self.state.ledgers[name] = with_changes(known, grads=Grads.UNKNOWN, stage=Stage.UNKNOWN, fresh=False)
        return name

    def find_optimizers(self) -> None:
        """Looks for optimizers that were made before the guard began; which of them are in use will show."""
        self._early = Early()

    def candidates(self) -> list[Any]:
        """Optimizers that were made before the guard began and are not known yet; none after a few backward passes."""
        if self._early is None or self.passes >= _FIRST_PASSES:
            self._early = None
            return []
        return [thing for thing in self._early.living() if self.optimizers.of(thing) is None]

    def carries_scale(self, optimizer: Any) -> bool:
        """Whether the gradients of an optimizer carry the loss scale now."""
        ledger = self.state.ledgers.get(self.optimizer(optimizer))
        return ledger is not None and ledger.grads is Grads.SCALED

    def scaler(self, scaler: Any) -> str:
        """The name of a scaler."""
        with self.lock:
            self.course.counted.scalers.setdefault(name := self.scalers.of(scaler) or self.scalers.give(scaler), [0, 0])
        return name

    def scaler_made(self, scaler: Any, first_scale: object) -> None:
        """Where a scaler was made, unless it begins at another scale than the one before: it may go on from there."""
        place, name = self.sites.stack(), self.scalers.of(scaler) or self.scalers.give(scaler)
        self.makers.pop(name, None)
        if self._first_scales.setdefault(place, first_scale) == first_scale:
            self.makers[name] = place

    def scheduler(self, scheduler: Any, made: bool = False) -> tuple[str, str | None]:
        """The names of a scheduler and of the optimizer that it drives."""
        driven = driven_by(scheduler, self.optimizers)
        optimizer = self.optimizer(driven) if driven is not None else None
        if (name := self.schedulers.of(scheduler)) is None:
            with self.lock:
                name = self.schedulers.give(scheduler)
                self.course.counted.schedulers[name] = (type(scheduler).__name__, 0)
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

    def _unread(self) -> str:
        """The names of the schedulers that have not stepped, and that the source never steps."""
        still = [name for name, one in self.state.cadences.items() if one.cadence_steps + one.told == 0]
        made = {name: self.state.last[name].get(Kind.CREATE) for name in still}
        return " ".join(name for name, event in made.items() if event is not None and never_read(event.site))

    def owners_of(self, tensors: Iterable[Tensor]) -> list[tuple[Any, str]]:
        """The optimizers that step any of the tensors, one for each name."""
        tensors = list(tensors)
        found = {name: thing for thing, name in self.optimizers.living() if self.owners.owns_any(thing, tensors)}
        return [(thing, name) for name, thing in found.items()]

    def owners_by_tensor(self) -> dict[int, str]:
        """The optimizer of each parameter, by its identity; of those that several step, none."""
        return self.owners.by_tensor(self.optimizers.living())

    # --- gradients ----------------------------------------------------------------------------------------------------

    def mine(self) -> list[tuple[Any, str]]:
        """The optimizers that no other living thread steps or zeroes: what theirs do is not seen from here."""
        strangers = self.strangers()
        return [(thing, name) for thing, name in self.optimizers.living() if thing not in strangers]

    def strangers(self) -> list[Any]:
        """The optimizers that another living thread steps or zeroes."""
        strange = self.homes.strange() if not self.homes.alone else ()
        return [thing for thing, name in self.optimizers.living() if name in strange] if strange else []

    def look(self, unscales: Any = None, steps: bool = False) -> None:
        """Makes events of edits by hand. `unscales`: whose scale is taken out. `steps`: an optimizer will step."""
        if torch._C._current_graph_task_id() != -1:
            return  # what arrives while a backward runs is nobody's edit
        for thing, name in self._changed() if self.homes.alone else self.mine():
            appeared = self.watches[name].empty
            if (news := self.watches[name].news()) == "gone":
                self.by_hand.gone(thing, name, steps)
            elif news == "changed":
                self.by_hand.changed(thing, name, thing is unscales, appeared)
        self.by_hand.look(unscales)

    def _changed(self) -> list[tuple[Any, str]]:
        """The optimizers of which gradients are not as they were last seen, where one thread does everything."""
        found = []
        for reference, name in self.optimizers.entries:
            watch = self.watches[name]
            if watch.seen != watch.now() and (thing := reference()) is not None:
                found.append((thing, name))
        return found

    def seen(self) -> None:
        """Takes the gradients as they are now for known."""
        if not self.homes.alone:
            for _, name in self.mine():
                self.watches[name].see()
            return
        for _, name in self.optimizers.entries:
            watch = self.watches[name]
            watch.seen = watch.now()

    def passed(self, roots: Iterable[Tensor], stack: Stack) -> None:
        """Marks what was back-propagated, so that a division of it that comes too late is known by its graph."""
        self.passes += 1
        if stack not in self._stacks:
            self._stacks.add(stack)
            self.training |= {self.sites.code_of.get(site) for site in self.sites.chain.get(stack, stack)}
        self.turns.passed(self.sites.frames())
        for root in (roots := list(roots)):
            if root.grad_fn is not None:
                mark_passed(root.grad_fn)
        if self.totals.passed(roots):
            for kept in kept_in(self.sites.frames()):
                detail = {"name": kept.name, "held": str(kept.held), "passed": "yes"}
                detail |= {"bounded": "yes"} if kept.bounded else {}
                self.feed(Kind.KEEP, stack=(*stack[:-1], kept.site), total=str(kept.site), detail=detail)

    def settle(self, wait: bool = False) -> None:
        """Asks the rules about numbers of a device that have arrived."""
        for moment, settled in arrived(self.measures.run(self.numbers.settled, wait, default=())):
            for rule, late in broken_late(self.questions, moment, settled.weight):
                self._tell(violation_of(rule, late), late)
            self.observe(moment, settled.reading)

    def end(self) -> None:
        """The end of the run, for the rules that look back. What was held back of an unused optimizer is dropped."""
        self.look()
        self.course.state.relieve()
        for told in self.at_end:
            told()
        over = self.gates.over({name: ledger.window.gate for name, ledger in self.state.ledgers.items()})
        detail = {"over": over, **self.turns.names(self.state.last, self.sites.chain), "unread": self._unread()}
        self.feed(Kind.END, stack=(Site("<end of the run>", 0),), detail=detail)
        for name, found in self._held.items():
            if not any(self.state.ledgers[other].window.steps for other in self._sharing(name)):
                for violation in found:
                    self._found(violation)
