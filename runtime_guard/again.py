"""By what a call is compared with the same call of an earlier period, and what is done at once where it is the same.

Read at once is what will not be there any more: whether gradients have changed since they were last seen (before and
after a backward, a clip and a step), the numbers of a loss, the loss scale, the norm that a clip has found, learning
rates. What is to be entered of it is put off.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from amplint.protocol.precision import Precision
from runtime_guard.backward import Backward, Begun, start_of
from runtime_guard.frameworks import Brought
from runtime_guard.gradients import Watch
from runtime_guard.precision import still
from runtime_guard.present import scales_of
from runtime_guard.put_off import Entry
from runtime_guard.recorder import Recorder
from runtime_guard.roles import driven_by
from runtime_guard.scaled import scaler_of
from runtime_guard.scales import ScaleAccount
from runtime_guard.schedules import rates_of
from runtime_guard.stepping import Calls
from runtime_guard.ways import Loss, Outcome, Way
from runtime_guard.windows import Account

SPARSE = 8
"""Of so many backward passes one is looked at for graphs that are kept."""


class Comparing(Calls):
    """What they have in common."""

    mute = owned = True
    guards = False

    def silent(self, args: Any, kwargs: Any) -> bool:
        """Whether the thread is inside of a call that speaks for this one, or nothing comes of it."""
        return self.quiet()

    def same(self, known: Any, args: Any, kwargs: Any) -> bool:
        """Whether a call begins as the known one did; nothing is done."""
        raise NotImplementedError

    def goes(self, known: Any, args: Any, kwargs: Any) -> Any:
        """The token of such a call, and what is done when it begins."""
        raise NotImplementedError

    def begins(self, known: Any, args: Any, kwargs: Any) -> Any:
        """Both."""
        return self.goes(known, args, kwargs) if self.same(known, args, kwargs) else None

    def passed(self, known: Any, times: int) -> None:
        """So many such calls have passed by."""

    def stays(self, known: Any) -> bool:
        """Whether what must not change with such a call has not."""
        return True

    def touched(self) -> bool:
        """Whether any gradient is not as it was last seen."""
        watches = self._recorder.watches
        for _, name in self._recorder.optimizers.entries:
            watch = watches[name]
            if watch.seen != watch.now():
                return True
        return False

    def inside(self) -> dict[str, int]:
        """The calls that the thread is inside of. Calls are compared in the thread alone in which they were known."""
        return self._recorder.thread.inside

    def enters(self, known: Any, over: bool) -> Iterable[Entry]:
        """What such a call enters of the numbers: at its beginning, or when it is over."""
        return ()

    def account_of(self, optimizer: Any) -> Account | None:
        """The account of an optimizer, if something is measured."""
        return self._recorder.numbers.track(optimizer) if self._recorder.measures.on else None

    def scales_of(self, scaler: Any) -> ScaleAccount | None:
        """The same of a scaler."""
        return self._recorder.numbers.scales.of(scaler) if self._recorder.measures.on else None


@dataclass(frozen=True, eq=False)
class _Pass:
    """A backward. `recognized`: its numbers, None where nothing is measured. `watches`: what is looked at around it,
    and whether that changes."""

    recognized: tuple[Way, Loss, Outcome] | None
    accounts: Sequence[Account]
    begins: bool
    names: frozenset[str]
    watches: tuple[tuple[Watch, bool], ...]
    brought: Brought
    scaler: str | None
    region: Precision
    inside: dict[str, int]


class PassAgain(Comparing):
    """A backward with the numbers of an earlier one."""

    mute = owned = False

    def __init__(self, recorder: Recorder, backward: Backward) -> None:
        super().__init__(recorder)
        self._backward = backward
        self._passes = 0

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
        roots, brought, scaler, _, (_, region), _ = token
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
        names = [name for _, name in recorder.optimizers.entries]
        watches = tuple((recorder.watches[name], name in recorder.reached) for name in names)
        return _Pass(found, accounts, begins, recorder.reached, watches, brought, scaler, region, self.inside())

    def same(self, known: _Pass, args: Any, kwargs: Any) -> bool:
        """The graph is read where it must be."""
        recorder, roots = self._recorder, args[0]
        if len(roots) != 1:
            return False
        for watch, _ in known.watches:
            if watch.seen != watch.now():
                return False
        if not still(known.region, roots):
            return False
        unsure = known.recognized is None or len(recorder.scalers.entries) > 1
        if unsure and scaler_of(roots, scales_of(recorder.scalers.living())) != known.scaler:
            return False
        if known.recognized is None:
            return True
        return recorder.numbers.runs_again(known.recognized, roots[0], start_of(args))

    def goes(self, known: _Pass, args: Any, kwargs: Any) -> Any:
        """What is known of it."""
        if known.recognized is not None:
            self._recorder.numbers.goes_again(known.recognized)
        known.inside["backward"] += 1
        return Begun(self._recorder, args[0][0], known.brought, known.scaler, known.region)

    def passed(self, known: _Pass, times: int) -> None:
        """Counted."""
        self._recorder.passes += times
        self._recorder.reached = known.names

    def ends(self, known: _Pass, token: Begun, result: Any) -> bool:
        """Whether the same optimizers were reached, and no more graphs are alive than before."""
        recorder, news = self._recorder, []
        for watch, reached in known.watches:
            now = watch.now()
            if (now != watch.seen) is not reached:
                return False
            news.append(now)
        sparse = self._passes % SPARSE == 0
        if sparse and recorder.totals.crowded():
            return False
        for (watch, _), now in zip(known.watches, news, strict=True):
            watch.seen = now
        known.inside["backward"] -= 1
        self._passes += 1
        self.passed(known, 1)
        if sparse:
            recorder.totals.passed([token.root])
        return True

    def enters(self, known: _Pass, over: bool) -> Iterable[Entry]:
        """Its numbers, when it is over."""
        if over and known.recognized is not None:
            yield self._recorder.numbers.ran_again, known.accounts, known.recognized[2], known.begins


@dataclass(frozen=True, eq=False)
class _Schedule:
    """A step of a scheduler, and whether it has moved nothing. `names`: its own, and its optimizer's. `handed`: what it
    was told to do."""

    names: tuple[str, str | None]
    handed: tuple[object, ...]
    still: bool
    inside: dict[str, int]


class ScheduleAgain(Comparing):
    """A scheduler's step that moves the learning rates, or does not, as before."""

    mute = False

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder)
        self._stepping: Any = None

    def silent(self, args: Any, kwargs: Any) -> bool:
        """Whether another scheduler steps this one."""
        return bool(self._recorder.thread.inside["schedule"])

    def known(self, args: Any, kwargs: Any, token: Any, result: Any) -> Any:
        """The names, and whether the step has moved nothing."""
        handed = (*args[1:], *kwargs.values())
        if token is None or token[1] is None or any(type(one) is not int for one in handed):
            return None
        return _Schedule(token[1], handed, token[2] is not None and token[2] == rates_of(args[0]), self.inside())

    def same(self, known: _Schedule, args: Any, kwargs: Any) -> bool:
        """Of both."""
        recorder, scheduler = self._recorder, args[0]
        handed = (*args[1:], *kwargs.values())
        if recorder.schedulers.of(scheduler) != known.names[0] or len(handed) != len(known.handed):
            return False
        if any(type(one) is not int or one != other for one, other in zip(handed, known.handed, strict=True)):
            return False
        return recorder.optimizers.of(driven_by(scheduler, recorder.optimizers)) == known.names[1]

    def goes(self, known: _Schedule, args: Any, kwargs: Any) -> Any:
        """The same token."""
        known.inside["schedule"] += 1
        self.passed(known, 1)
        self._stepping = args[0]
        return "schedule", known.names, rates_of(args[0])

    def passed(self, known: _Schedule, times: int) -> None:
        """Counted."""
        schedulers = self._recorder.course.counted.schedulers
        kind, count = schedulers[known.names[0]]
        schedulers[known.names[0]] = (kind, count + times)

    def ends(self, known: _Schedule, token: Any, result: Any) -> bool:
        """Whether it has moved something, as before."""
        before, scheduler, self._stepping = token[2], self._stepping, None
        if (before is not None and before == rates_of(scheduler)) is not known.still:
            return False
        known.inside["schedule"] -= 1
        return True
