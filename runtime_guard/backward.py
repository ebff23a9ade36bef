"""Listens to backward passes: which optimizers' gradients they change, with what weight, under whose scale."""

from __future__ import annotations

import threading
from dataclasses import replace
from math import isclose
from typing import Any

import torch
from torch import Tensor

from amplint.protocol.events import Kind
from amplint.protocol.precision import Precision
from amplint.protocol.window import begins_micro_step
from runtime_guard import gradients
from runtime_guard.divisors import batches_in, divisor_in
from runtime_guard.frameworks import Brought
from runtime_guard.normalization import UNREAD
from runtime_guard.owners import GIVEN, parameters_of
from runtime_guard.penalties import Asked, Penalties
from runtime_guard.precision import region_of
from runtime_guard.present import Scale, scales_of
from runtime_guard.recorder import Recorder, Stack
from runtime_guard.scaled import is_scaled, mark_own, own_scale, scaler_of
from runtime_guard.underway import HOOKED, SHARED
from runtime_guard.unseen import unseen
from runtime_guard.ways import Outcome

Watched = list[tuple[Any, str | None, list[Tensor], gradients.Stamp]]
INSIDE = "what losses weigh for optimizers that step in hooks, while the backward pass runs: that is not judged"
_MOST_DIVISORS = 16
_MOST_ASKED = 8


def _mean_of_many(reading: Outcome) -> bool:
    """Whether several losses that were kept are back-propagated at once, as their mean."""
    weights = [term.told for term in reading.terms]
    return len(weights) > 1 and all(weight is not None for weight in weights) and isclose(sum(filter(None, weights)), 1)


def _hooked(reading: Outcome) -> bool:
    """Whether something that is no operation of the graph has changed what arrived at a criterion."""
    unscaled = [term for term in reading.terms if isinstance(term.scale, float) and term.scale == 1.0]
    pairs = [(term.weight, term.reckoned) for term in unscaled]
    return any(one and other and not isclose(one, other, rel_tol=1e-2) for one, other in pairs)


class Running:
    """The backward that runs. `stepped`: the optimizers that have stepped meanwhile, in hooks of their parameters."""

    def __init__(self, recorder: Recorder, brought: Brought, scaler: str | None) -> None:
        self._recorder, self._brought, self._scaler = recorder, brought, scaler
        self.stepped: set[str] = set()

    def steps(self, optimizer: Any) -> None:
        """The event of a pass that an optimizer uses before it is over. What its loss weighs is known only then."""
        recorder, name = self._recorder, self._recorder.optimizer(optimizer)
        self.stepped.add(name)
        recorder.by_hand.hides(name, INSIDE)
        recorder.measures.run(recorder.numbers.erased, optimizer)
        place = self._brought.place
        recorder.feed(
            Kind.BACKWARD, stack=place, optimizer=name, scaler=self._scaler, weight=None,
            scaled=None if self._scaler is None and recorder.scalers.living() else self._scaler is not None,
            detail=self._brought.detail, forward=Precision.UNKNOWN, region=Precision.UNKNOWN, alone=False,
            branches=recorder.gates.branches(place),
        )  # fmt: skip


def _with_hooks(brought: Brought, reading: Outcome) -> Brought:
    """What has brought a pass about, and that something has changed what arrived, where no framework explains it."""
    if "through" in brought.detail or not _hooked(reading):
        return brought
    return replace(brought, detail={**brought.detail, "hooked": "yes"})


class Begun:
    """A backward that has begun as the one before."""

    __slots__ = ("_brought", "_recorder", "_region", "_scaler", "root")

    def __init__(
        self, recorder: Recorder, root: Tensor, brought: Brought, scaler: str | None, region: Precision
    ) -> None:
        self._recorder, self.root, self._brought, self._scaler, self._region = recorder, root, brought, scaler, region

    def heard(self) -> Any:
        """What is known before a pass that is heard."""
        watched = []
        for thing, name in self._recorder.optimizers.living():
            watch = self._recorder.watches[name]
            watched.append((thing, name, watch.few(), watch.seen))
        return [self.root], self._brought, self._scaler, watched, (Precision.UNKNOWN, self._region), False


class Here(threading.local):
    """What is known of the pass that runs in a thread: the scales that may be in it, whether it begins with gradients
    that somebody had made, and whether its graph was back-propagated before."""

    began: tuple[tuple[Scale, ...], bool, bool] = (), False, False


class Backward:
    """The listener at `torch.autograd._engine_run_backward`, through which backward and autograd.grad both go."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._missed = False
        self._divisors: dict[tuple[Stack, float], dict[str, str]] = {}
        self._unseen, self._underway = unseen(), recorder.underway
        self._penalties = Penalties(recorder)
        self._here = Here()
        self.latest: tuple[Outcome, bool] | None = None

    def begins(self, args: Any, kwargs: Any) -> Any:
        """What is known before the pass; None for one that runs inside another, or is of no concern."""
        recorder = self._recorder
        inside = recorder.thread.inside
        if inside["step"]:
            recorder.thread.forget_failed_steps()
        within = torch._C._current_graph_task_id() != -1 or inside["backward"] or inside["scaler.step"]
        if not kwargs.get("accumulate_grad"):
            return self._penalties.asks(args)
        if within or (inside["step"] and recorder.thread.closure is None):
            return None
        recorder.homes.fills()
        recorder.look()
        brought = recorder.frameworks.loss(recorder.sites.stack())
        place, through = brought.place, recorder.frameworks.knows(brought.place)
        watched = self._watched(through)
        roots = [root for root in args[0] if isinstance(root, Tensor)]
        self._penalties.look(roots)
        inside["backward"] += 1
        present = scales_of(recorder.scalers.living())
        if through:
            mark_own(roots)
        start = start_of(args) if recorder.measures.on else None
        before = recorder.numbers.before_backward
        recorder.measures.run(before, roots, place, start, recorder.strangers(), present, through)
        region = region_of(roots) if not recorder.frameworks.surrounds(place) else Precision.UNKNOWN
        regions = recorder.precisions.of_forward(roots), region
        into = args[4] if len(args) > 4 else ()
        handed = next((one.scaler for one in present if start is not None and one.number == start != 1), None)
        shared = self._underway.shares(roots, len(args) > 2 and bool(args[2]))
        self._here.began = present, any(root.numel() != 1 for root in roots), shared
        scaler = scaler_of(roots, present) or handed
        recorder.underway.running = Running(recorder, brought, scaler)
        return roots, brought, scaler, watched, regions, bool(into)

    def _watched(self, through: bool) -> Watched:
        """The gradients of the optimizers that the pass may reach, as they are before it."""
        recorder, watched = self._recorder, list[Any]()
        for thing, name in recorder.mine():
            tensors = recorder.watches[name].many(thing, self._missed)
            watched.append((thing, name, tensors, gradients.stamp(tensors)))
            if through or recorder.watches[name].exchanged:  # what its first backward gives is looked at while it runs
                recorder.measures.run(recorder.numbers.track, thing)
        for thing in recorder.candidates():
            tensors = gradients.sample(thing)
            watched.append((thing, None, tensors, gradients.stamp(tensors)))
        return watched

    def ends(self, token: Any, result: Any) -> None:
        """One event for each optimizer that was reached."""
        if token is None:
            return
        if isinstance(token, Asked):
            self._penalties.given(token, result)
            return
        if isinstance(token, Begun):
            token = token.heard()
        recorder = self._recorder
        recorder.thread.inside["backward"] -= 1
        roots, brought, scaler, watched, (forward, region), chosen = token
        stack, early = brought.place, self._stepped_early()
        watched = [one for one in watched if one[1] not in early]
        reached = self._reached(watched, roots) or ([] if chosen else self._gathered(watched, roots, stack))
        self._missed = not reached and not early  # then all parameters are looked at next time
        begins = not reached or self._begins(reached[0][1], stack)
        reading = self._read([thing for thing, _, _ in reached], begins, stack)
        brought = _with_hooks(brought, reading)
        present, handed, shared = self._here.began  # of a scale of one's own, whoever has put it in takes it out:
        scaled = None if own_scale(roots) else is_scaled(reading, scaler, present, handed)
        names = frozenset(name for _, name, _ in reached)
        diverted = self._underway.diverts(stack, roots) or self._unseen.in_files({site.path for site in stack})
        for _, name, tensors in reached:
            why = HOOKED if diverted or self._underway.hooked(tensors) else SHARED if shared and begins else None
            weight = reading.weight if why is None else None
            recorder.by_hand.hides(name, why)
            recorder.feed(
                Kind.BACKWARD, stack=stack, optimizer=name, scaler=scaler, weight=weight, scaled=scaled,
                detail=brought.detail if _mean_of_many(reading) else self._detail(name, brought, weight, reading),
                forward=forward, region=region, alone=len(names) == 1, branches=recorder.gates.branches(stack),
                **recorder.sharing.of(tensors),
            )  # fmt: skip
        recorder.sharing.passed()
        recorder.reached = names
        recorder.crossings.passed(roots, stack, recorder.owners_by_tensor, names | early)
        recorder.passed(roots, stack)
        recorder.seen()
        if early:
            self.latest = None  # such a pass is always heard

    def _stepped_early(self) -> set[str]:
        """The optimizers that have stepped while the pass ran; it runs no longer."""
        running, self._underway.running = self._underway.running, None
        return running.stepped if running is not None else set()

    def _read(self, reached: list[Any], begins: bool, stack: Stack) -> Outcome:
        """What was measured of the pass."""
        recorder = self._recorder
        after = recorder.numbers.after_backward
        reading: Outcome = recorder.measures.run(after, reached, begins, stack, default=UNREAD)
        if reading.opaque:
            recorder.course.counted.not_covered.update(dict.fromkeys(reading.opaque))
        self.latest = reading, begins
        return reading

    def _reached(self, watched: Watched, roots: list[Tensor]) -> list[tuple[Any, str, list[Tensor]]]:
        """The optimizers whose gradients have changed, one for each name."""
        found: dict[str, tuple[Any, str, list[Tensor]]] = {}
        strange = self._recorder.strangers()
        for thing, name, tensors, before in watched:
            if thing in strange or self._of_others(thing, name, roots):
                continue
            if self._changed(thing, name, tensors, before, roots):
                clean = not any(mark is not None for mark in before)
                name = name or self._recorder.optimizer(thing, made=clean)
                found.setdefault(name, (thing, name, tensors))
        return list(found.values())

    def _of_others(self, thing: Any, name: str | None, roots: list[Tensor]) -> bool:
        """Whether what changes gradients of an optimizer is another thread: of one that nobody has stepped yet."""
        owners = self._recorder.owners
        return self._recorder.homes.unclaimed(name) and not gradients.leads_to(roots, owners.ids(thing))

    def _gathered(self, watched: Watched, roots: list[Tensor], stack: Stack) -> list[tuple[Any, str, list[Tensor]]]:
        """The same where no gradient has changed: those whose gradients somebody takes away at once."""
        watches = self._recorder.watches
        known = [(thing, name, tensors) for thing, name, tensors, _ in watched if name is not None]
        return [one for one in known if watches[one[1]].gathers(roots, stack, one[2])]

    def _changed(
        self, thing: Any, name: str | None, tensors: list[Tensor], before: gradients.Stamp, roots: list[Tensor]
    ) -> bool:
        """Whether a backward has changed gradients of an optimizer."""
        if name is None:
            return gradients.stamp(tensors) != before
        watch = self._recorder.watches[name]
        if watch.changed(before, tensors):
            return True
        narrow = watch.narrow
        if narrow:
            watch.widen()
        if GIVEN.exchanged(thing) and watch.asked < _MOST_ASKED:  # it may have been given other tensors, and no copies
            watch.asked += 1
            if gradients.leads_to(roots, set(map(id, parameters_of(thing)))):
                GIVEN.adopt(thing)
                watch.exchanged = False
                watch.choose(thing)
                return True
        return narrow and gradients.leads_to(roots, self._recorder.owners.ids(thing))

    def fails(self, token: Any) -> None:
        """A pass that raised has filled nothing that one could speak of."""
        if token is not None and not isinstance(token, Asked):
            self._recorder.underway.running = None
            self._recorder.thread.inside["backward"] -= 1
            self._recorder.measures.run(self._recorder.numbers.failed)
            self._recorder.seen()

    def _begins(self, name: str, stack: Stack) -> bool:
        beat = self._recorder.course.expected(Kind.BACKWARD, stack)
        if beat is not None:
            return beat.begins
        window = self._recorder.state.ledgers[name].window
        return begins_micro_step(window, stack, self._recorder.gates.branches(stack))

    def _detail(self, name: str, brought: Brought, weight: float | None, reading: Outcome) -> dict[str, str]:
        """Whose doing it is, and what the loss was divided by, where that is known to be the length of a window: the
        user has said so, a framework does, or a variable of that value is called so."""
        stack = brought.place
        beat = self._recorder.course.expected(Kind.BACKWARD, stack)
        if beat is not None and beat.parts["weight"] == weight:
            return beat.detail
        steps, window = self._recorder.accumulation_steps, self._recorder.state.ledgers[name].window
        if weight is None or window.longest > 1 or not 0 < weight < 1:
            return brought.detail
        if brought.division is not None and (divided := brought.division.detail(weight)):
            return {**brought.detail, **divided}
        if steps is not None and steps > 1 and abs(weight * steps - 1) < 1e-6:
            return {**brought.detail, "divisor": str(steps)}
        key = (stack, weight)
        if key not in self._divisors and len(self._divisors) < _MOST_DIVISORS:
            self._divisors[key] = self._named(stack, weight, reading)
        return {**brought.detail, **self._divisors.get(key, {})}

    def _named(self, stack: Stack, weight: float, reading: Outcome) -> dict[str, str]:
        """What the user calls the number that a loss was divided by: a window's length, or the number of batches."""
        divisor = self._divisor(stack, weight)
        if divisor is not None:
            return {"divisor": divisor}
        recorder = self._recorder
        by = [one for term in reading.terms for one in term.divisors if abs(one * weight - 1) < 1e-6]
        if len(reading.terms) != 1 or not by:
            return {}
        over = batches_in(recorder.turns.around(recorder.sites.frames()), by[0])
        return {"over": over} if over is not None else {}

    def _divisor(self, stack: Stack, weight: float) -> str | None:
        """What the user calls the number that a loss was divided by, if that counts micro-steps; None for a loss that
        only the boundary has."""
        recorder = self._recorder
        gate = recorder.gate_of(stack)
        if gate is not None and recorder.gates.made_behind(gate, stack[-1]):
            return None
        return divisor_in(recorder.sites.frames(), weight, gate.length if gate is not None else None)


def start_of(args: Any) -> float | None:
    """The gradient that a pass begins with, if there is but one and it is a number on the host."""
    given = args[1] if len(args) > 1 else ()
    first = given[0] if isinstance(given, tuple | list) and len(given) == 1 else None
    if type(first) is not Tensor or not first.is_cpu or first.numel() != 1 or first.requires_grad:
        return None
    return float(first.item())
