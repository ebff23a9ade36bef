"""Listens to learning-rate schedulers, and to the end of an epoch where it can be seen."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch.optim import lr_scheduler

from amplint.dialects import DIALECTS
from amplint.protocol.cadence import METRIC, MOVES_BY
from amplint.protocol.events import Kind
from amplint.protocol.state import State
from runtime_guard.recorder import Recorder
from runtime_guard.roles import driven_by

_MOVES = {name: said for one in DIALECTS if one.live is not None for name, said in one.live.moves_by.items()}
_FOREIGN = {name: said for one in DIALECTS if one.live is not None for name, said in one.live.schedules.items()}


def foreign() -> Iterator[tuple[type, str]]:
    """The loaded classes of schedules that are none of torch's, and the argument that sets an absolute position."""
    for name, said in _FOREIGN.items():
        module, _, last = name.rpartition(".")
        found = vars(sys.modules[module]).get(last) if module in sys.modules else None
        if isinstance(found, type) and "step" in vars(found):
            yield found, said


class Schedules:
    """The listeners at schedulers. Steps that torch makes itself (the first, those of children) are left out."""

    def __init__(self, recorder: Recorder, adopt: Callable[[type], None]) -> None:
        self._recorder, self._adopt = recorder, adopt
        self._files, self._absolute = {lr_scheduler.__file__}, dict[type, str]()

    def made(self, scheduler: Any, result: Any) -> None:
        """A new scheduler, perhaps of a class that was not there when the guard began."""
        if scheduler is not None:
            self._adopt(type(scheduler))
            self._recorder.scheduler(scheduler, made=True)

    def steps(self, args: Any, kwargs: Any) -> Any:
        """The learning rates before the step; None where the step is not the user's, or sets an absolute position."""
        scheduler, inside = args[0], self._recorder.thread.inside
        inside["schedule"] += 1
        itself = self._recorder.sites.caller_file() in self._files
        if inside["schedule"] > 1 or itself or getattr(scheduler, "_is_initial", False) or self._of_nobody(scheduler):
            return ("schedule", None, None)
        self._recorder.look()
        name, optimizer = self._recorder.scheduler(scheduler)
        kind, count = self._recorder.course.counted.schedulers[name]
        self._recorder.course.counted.schedulers[name] = (kind, count + 1)
        if self._places(scheduler, args, kwargs):
            detail = _of_metric(scheduler, (*args[1:], *kwargs.values()))
            self._recorder.feed(Kind.SCHEDULER_TOLD, optimizer=optimizer, scheduler=name, detail=detail)
            return ("schedule", None, None)
        return ("schedule", (name, optimizer, _leap(scheduler, args, kwargs)), rates_of(scheduler))

    def hears(self, owner: type, sets: str) -> None:
        """Of a class of schedules that is none of torch's, the argument that sets an absolute position."""
        self._files.add(inspect.getfile(owner))
        self._absolute[owner] = sets

    def _of_nobody(self, scheduler: Any) -> bool:
        """Whether no optimizer is known whose learning rates a schedule sets that is none of torch's."""
        known = self._recorder.optimizers
        return type(scheduler) in self._absolute and driven_by(scheduler, known) is None

    def _places(self, scheduler: Any, args: Any, kwargs: Any) -> bool:
        """Whether a step is told where the schedule is to be."""
        moves = any(self._absolute.get(one) == "" for one in type(scheduler).__mro__)
        return not moves and any(given is not None for given in (*args[1:], *kwargs.values()))

    def stepped(self, token: Any, result: Any) -> None:
        """The event, when it is known whether the step has moved anything."""
        if token is None:
            return
        _, who, before = token
        if who is not None:
            name, optimizer, said = who
            detail = {**said, "still": "yes"} if before is not None and before == self.now(name) else said
            self._recorder.feed(Kind.SCHEDULER_STEP, optimizer=optimizer, scheduler=name, detail=detail)
        self.fails(token)

    def fails(self, token: Any) -> None:
        """The end of a step, whether it raised or not."""
        if token is not None:
            self._recorder.thread.inside["schedule"] -= 1

    def restores(self, args: Any, kwargs: Any) -> None:
        """A schedule goes on from a checkpoint: how often one that is made there steps says nothing of its horizon."""
        name = self._recorder.schedulers.of(args[0])
        if name is not None:
            _forget_horizons(self._recorder.state, name)

    def now(self, name: str) -> list[float] | None:
        """The learning rates that a scheduler has set."""
        return next((rates_of(thing) for thing, known in self._recorder.schedulers.living() if known == name), None)


def _of_metric(scheduler: Any, given: tuple[Any, ...]) -> dict[str, str]:
    """What is said of a step of a schedule of torch's that is given a tensor, and takes it for an epoch's number."""
    kind = type(scheduler)
    wants = isinstance(scheduler, lr_scheduler.ReduceLROnPlateau) or kind.__module__ != lr_scheduler.__name__
    tensors = any(isinstance(one, torch.Tensor) and one.is_floating_point() for one in given)
    return {METRIC: kind.__name__} if tensors and not wants else {}


def _leap(scheduler: Any, args: Any, kwargs: Any) -> dict[str, str]:
    """By how many positions a step moves a schedule on, and at which that ends, where a class of another's says so."""
    kind = type(scheduler)
    argument, end = _MOVES.get(f"{kind.__module__}.{kind.__qualname__}", ("", ""))
    by, last = kwargs.get(argument, args[1] if len(args) > 1 else None), getattr(scheduler, end, None) if end else None
    if not end or type(by) is not int or type(last) is not int or by < 2:
        return {}
    return {MOVES_BY: str(by), "argument": end, "end": str(last)}


def _forget_horizons(state: State, name: str) -> None:
    """Neither the schedule that goes on from a checkpoint nor those that were made at its place step through all."""
    made = state.last[name][Kind.CREATE].site
    for other in state.cadences:
        if state.last[other][Kind.CREATE].site == made:
            state.cadences[other] = replace(state.cadences[other], horizon=None)


def rates_of(scheduler: Any) -> list[float] | None:
    """The learning rates of the driven optimizer, None unless all of them are plain numbers (else they may be on a
    device)."""
    groups = getattr(getattr(scheduler, "optimizer", None), "param_groups", ())
    rates = [group.get("lr") for group in groups]
    return rates if rates and all(isinstance(rate, float | int) for rate in rates) else None
