"""By what a call is compared with the same call of an earlier period, and what is done at once where it is the same.

Read at once is what will not be there any more: whether gradients have changed since the last call, the numbers of a
loss, the loss scale, the norm that a clip has found, learning rates. What is to be entered of it is put off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from amplint.protocol.precision import Precision
from amplint.protocol.state import Moment
from runtime_guard.backward import Backward, start_of
from runtime_guard.frameworks import Brought
from runtime_guard.precision import still
from runtime_guard.recorder import Recorder
from runtime_guard.scaled import scaler_of
from runtime_guard.scales import ScaleAccount
from runtime_guard.schedules import Schedules, rates_of
from runtime_guard.stepping import Calls
from runtime_guard.ways import Loss, Outcome, Way
from runtime_guard.windows import Account


class Comparing(Calls):
    """What they have in common."""

    def silent(self, args: Any, kwargs: Any) -> bool:
        """Whether the thread is inside of a call that speaks for this one, or nothing comes of it."""
        return self.quiet()

    def read(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """The arguments, of which something had to be read."""
        return args, kwargs

    def touched(self) -> bool:
        """Whether any gradient is not as it was last seen."""
        watches = self._recorder.watches
        for _, name in self._recorder.optimizers.entries:
            watch = watches[name]
            if watch.seen != watch.now():
                return True
        return False

    def defer(self, function: Any, *args: Any) -> None:
        """Something to measure when what waits is gone through."""
        recorder = self._recorder
        if recorder.measures.on:
            recorder.course.put_off(recorder.measures.run, function, *args)

    def account_of(self, optimizer: Any) -> Account | None:
        """The account of an optimizer, if something is measured."""
        return self._recorder.numbers.track(optimizer) if self._recorder.measures.on else None

    def scales_of(self, scaler: Any) -> ScaleAccount | None:
        """The same of a scaler."""
        return self._recorder.numbers.scales.of(scaler) if self._recorder.measures.on else None

    def moments(self) -> list[Moment]:
        """Those of the event that comes next."""
        course = self._recorder.course
        return list(course.script[course.at].moments)


@dataclass(frozen=True, eq=False)
class _Pass:
    """A backward. `recognized`: its numbers, None where nothing is measured."""

    recognized: tuple[Way, Loss, Outcome] | None
    accounts: Sequence[Account]
    begins: bool
    names: frozenset[str]
    brought: Brought
    scaler: str | None
    region: Precision


class PassAgain(Comparing):
    """A backward with the numbers of an earlier one."""

    def __init__(self, recorder: Recorder, backward: Backward) -> None:
        super().__init__(recorder)
        self._backward = backward

    def silent(self, args: Any, kwargs: Any) -> bool:
        """Whether it fills no `.grad`, or runs inside of another call."""
        inside = self._recorder.thread.inside
        within = inside["backward"] or inside["scaler.step"] or inside["step"]
        return bool(not kwargs.get("accumulate_grad") or within or torch._C._current_graph_task_id() != -1)

    def known(self, args: Any, kwargs: Any, token: Any, result: Any) -> Any:
        """None where graphs are still looked at, or the loss is not one whose numbers are easily read."""
        recorder, latest = self._recorder, self._backward.latest
        if token is None or latest is None:
            return None
        roots, brought, scaler, _, (_, region) = token
        outcome, begins = latest
        reached = [thing for thing, name in recorder.optimizers.living() if name in recorder.reached]
        found = recorder.numbers.recognized if recorder.measures.on else None
        plain = len(roots) == 1 and len(args[0]) == 1 and not recorder.crossings.waiting
        if brought.detail or brought.division is not None:  # what a framework does may depend on where it is
            return None
        if not plain or not reached or not recorder.precisions.looked or not recorder.homes.alone:
            return None
        if recorder.measures.on and (found is None or not outcome.kept):
            return None
        accounts = [recorder.numbers.track(thing) for thing in reached] if recorder.measures.on else []
        return _Pass(found, accounts, begins, recorder.reached, brought, scaler, region)

    def begins(self, known: _Pass, args: Any, kwargs: Any) -> Any:
        """The token that a backward that is heard would have, of the few gradients that are looked at."""
        recorder, roots = self._recorder, args[0]
        if len(roots) != 1 or self.touched():
            return None
        watched = []
        for reference, name in recorder.optimizers.entries:
            watch, thing = recorder.watches[name], reference()
            tensors = watch.few()
            if thing is None or any(tensor._backward_hooks for tensor in tensors):
                return None
            watched.append((thing, name, tensors, watch.seen))
        root = roots[0]
        if not still(known.region, roots):
            return None
        if (known.recognized is None or len(recorder.scalers.entries) > 1) and scaler_of(roots) != known.scaler:
            return None
        if known.recognized is not None:
            start = start_of(args)
            if start is None or not recorder.numbers.runs_again(known.recognized, root, start):
                return None
        recorder.thread.inside["backward"] += 1
        return [root], known.brought, known.scaler, watched, (Precision.UNKNOWN, known.region)

    def ends(self, known: _Pass, token: Any, result: Any) -> bool:
        """Whether the same optimizers were reached, and no more graphs are alive than before."""
        recorder, news = self._recorder, []
        for _, name, _, before in token[3]:
            watch = recorder.watches[name]
            now = watch.now()
            if (now != before) is not (name in known.names):
                return False
            news.append((watch, now))
        if recorder.totals.crowded():
            return False
        for watch, now in news:
            watch.seen = now
        recorder.thread.inside["backward"] -= 1
        recorder.passes += 1
        recorder.reached = known.names
        recorder.totals.passed(token[0])
        if known.recognized is not None:
            self.defer(recorder.numbers.ran_again, known.accounts, known.recognized[2], known.begins)
        return True


class ScheduleAgain(Comparing):
    """A scheduler's step that moves the learning rates, or does not, as before."""

    def __init__(self, recorder: Recorder, schedules: Schedules) -> None:
        super().__init__(recorder)
        self._schedules = schedules

    def silent(self, args: Any, kwargs: Any) -> bool:
        """Whether another scheduler steps this one."""
        return bool(self._recorder.thread.inside["schedule"])

    def known(self, args: Any, kwargs: Any, token: Any, result: Any) -> Any:
        """The names, and whether the step has moved nothing."""
        if token is None or token[1] is None:
            return None
        return token[1], token[2] is not None and token[2] == rates_of(args[0])

    def begins(self, known: Any, args: Any, kwargs: Any) -> Any:
        """The same token."""
        recorder, scheduler = self._recorder, args[0]
        same = recorder.schedulers.of(scheduler) == known[0][0]
        driven = recorder.optimizers.of(getattr(scheduler, "optimizer", None)) == known[0][1]
        if not same or not driven or len(args) > 1 or kwargs or self.touched():
            return None
        recorder.thread.inside["schedule"] += 1
        kind, count = recorder.course.counted.schedulers[known[0][0]]
        recorder.course.counted.schedulers[known[0][0]] = (kind, count + 1)
        return "schedule", known[0], rates_of(scheduler)

    def ends(self, known: Any, token: Any, result: Any) -> bool:
        """Whether it has moved something, as before."""
        before = token[2]
        if (before is not None and before == self._schedules.now(known[0][0])) is not known[1]:
            return False
        self._schedules.fails(token)
        return True
