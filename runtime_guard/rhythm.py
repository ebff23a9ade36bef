"""The calls of a loop that does the same window after window, each compared with the one that is expected.

Once the events of a loop have fallen into a rhythm (`course`), the calls that make them are written down for one
period: which listener hears them, from which line of which of the user's frames, with which objects and numbers. In the
periods that follow a call is compared with what was written down, as little as possible is read (whether gradients have
changed around a backward, the numbers that a loss was multiplied and divided by), and of everything else it is counted
how often it has come. What is done between two heavy operations of a model finds the processor's caches empty, and
costs several times as much as the same done at once.

The first thing that is not as expected ends it, before anything of that call is done: what waits is gone through, and
the call is heard like any other. Now and then a whole period is heard in full (`UNHEARD`, and the windows that the
gradient ledger follows), and the rhythm goes on if it was the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from threading import get_ident
from time import perf_counter
from types import CodeType, FrameType
from typing import Any, Protocol

from runtime_guard.course import Course
from runtime_guard.lane import AWAKE, MOST, Lane, Open, Step
from runtime_guard.put_off import Entry, PutOff
from runtime_guard.sequence import Sequence
from runtime_guard.sites import MAX_STACK, Sites

UNHEARD = 255
"""So many periods at most are compared before one is heard in full."""

DEEPEST = 64
MOST_REST = 256
"""So many micro-steps at most are let go by before calls are written down again, after a period that was not kept."""

ABOVE = 3
"""So far above the function that looks for frames is the one that is listened to."""

Frames = tuple[tuple[int, CodeType, int], ...]


class Again(Protocol):
    """What a kind of call is compared by. `mute`: where nothing comes of the call, nothing is done at it. `owned`: it
    is a method, whose object comes first. `guards`: there is something that must not change with it."""

    mute: bool
    owned: bool
    guards: bool

    def silent(self, args: Any, kwargs: Any) -> bool:
        """Whether nothing comes of the call, as where the thread is inside of one that speaks for it."""

    def known(self, args: Any, kwargs: Any, token: Any, result: Any) -> Any:
        """What is written down of a call that was heard; None if the next one has to be heard as well."""

    def begins(self, known: Any, args: Any, kwargs: Any) -> Any:
        """The token of a call that begins as the known one did; None for another one, and then nothing was done."""

    def ends(self, known: Any, token: Any, result: Any) -> bool:
        """Whether it ended as the known one did; if not, nothing was done."""

    def enters(self, known: Any, over: bool) -> Iterable[Entry]:
        """What such a call enters of the numbers: at its beginning, or when it is over."""

    def goes(self, known: Any, args: Any, kwargs: Any) -> Any:
        """The token of a call that has begun as the known one did; None if it is over, though nobody said so."""

    def passed(self, known: Any, times: int) -> None:
        """So many such calls have passed by."""

    def stays(self, known: Any) -> bool:
        """Whether what must not change with such a call has not."""


class Hears(Protocol):
    """A listener of such calls."""

    again: Again | None
    opens: bool

    def hear(self, args: Any, kwargs: Any) -> Any:
        """The token of a call that is heard in full."""

    def hear_out(self, token: Any, result: Any) -> None:
        """The end of such a call."""


@dataclass(eq=False)
class Call:
    """A call of a period. `frames`: all of those that are looked at for a backward, of other calls the innermost one.

    `before`, `after`: the events at its beginning and end; `end`: the calls that had begun then.
    """

    listener: Hears
    frames: Frames
    args: Any = None
    kwargs: Any = None
    known: Any = None
    before: int = 0
    after: int = 0
    end: int = 0
    nested: int = 0
    again: Any = None


class Measured(Protocol):
    """What is measured of the windows of a loop."""

    def fresh(self) -> bool:
        """Whether no window has begun."""

    def unfollowed(self, most: int) -> int:
        """How many windows, at most so many, may come before one that is to be followed."""

    def steady(self, begun: bool) -> None:
        """To be told that windows like those since it was last told come again, or do so no longer."""


class Rhythm:
    """The calls of a period, and where in it the loop is. `on`: they are compared now, or pass by in the `lane`.

    `seen` takes the gradients as they are now for known. A listener that calls it holds the lock of all threads.
    """

    def __init__(
        self,
        course: Course,
        put_off: PutOff,
        sites: Sites,
        measured: Measured,
        seen: Callable[[], None],
        lane: Lane,
    ) -> None:
        self.on = False
        self.course, self._put_off, self._sites, self._measured = course, put_off, sites, measured
        self._seen, self._lane = seen, lane
        self._sequence, self._even, self._nap = Sequence(), 0, 1
        self._calls: list[Call] = []
        self._ready = self._writing = False
        self._begin = self._at = self._left = self._rest = self._skipped = self._told = 0
        self._round = False
        self._open: list[Call] = []
        self._thread = self._entered = 0
        self._passed: list[tuple[int, float]] = []
        self._order: list[tuple[Call, bool]] = []
        course.left, course.pending = self.leave, self._goes_on
        put_off.whole, put_off.present = self._of_a_period, self._present

    def before(self, listener: Hears, args: Any, kwargs: Any) -> Any:
        """The token of a call: compared with the one that is expected, or heard."""
        if self._lane.steps is not None:  # a call that passed the lane by, as where torch.compile traces the caller
            self._lane.wake()
        again = listener.again
        if again is None or not self.course.script:
            if self._writing:
                self._sequence.add(listener, None, len(self._open), args)
            return listener.hear(args, kwargs)
        if (self._open or listener.opens) and again.silent(args, kwargs):
            if self._writing:
                self._sequence.add(listener, None, len(self._open), args)
            if self._open and self._open[-1].listener is listener:
                self._open[-1].nested += 1
            return None if again.mute else listener.hear(args, kwargs)
        if self._calls and get_ident() != self._thread:
            self.leave()
        if not self.on and listener.opens:
            self._opens()
        if self.on:
            call = self._calls[self._at] if self._at < len(self._calls) else None  # of the last, no end was told
            if call is not None and call.listener is listener and _stands(call.frames):
                said = again.begins(call.known, args, kwargs)
                if said is not None:
                    self._at += 1
                    self._open.append(call)
                    self._passed.append((call.before, perf_counter()))
                    return said
            self.leave()
        if not self._writing:
            return listener.hear(args, kwargs)
        return self._written(listener, args, kwargs)

    def after(self, listener: Hears, token: Any, result: Any) -> None:
        """The end of a call."""
        call = self._open[-1] if self._open else None
        if call is None or call.listener is not listener or call.nested or get_ident() != self._thread:
            if call is not None and call.listener is listener:
                call.nested -= 1
            listener.hear_out(token, result)
            return
        self._open.pop()
        if self.on:
            if self._at == call.end and call.again.ends(call.known, token, result):
                self._passed.append((call.after, perf_counter()))
                if len(self._passed) == len(self._order):
                    self._ends_period()
                return
            self.leave()
        passed = self.course.passed
        listener.hear_out(token, result)
        if self._writing:
            call.after, call.end = self.course.passed - passed, len(self._calls)
            self._order.append((call, True))
            self._sequence.over(call)
            call.known = call.again.known(call.args, call.kwargs, token, result)
            call.args = call.kwargs = None
            if call.known is None:
                self._rewrite()

    def _ends_period(self) -> None:
        """Another period begins, which is heard if it is time."""
        self._put_off.over()
        passed, told = self._passed, self._told
        self._passed, self._told, self._entered, self._at = [], 0, 0, 0
        self._left, self._rest = self._left - 1, 0
        if self._round and not told:
            self.course.go_round()
        else:
            for events, at in passed[told:]:
                self.course.go_on(events, at)
        self._even += 1
        if self._left <= 0:
            self._rests()
        elif self._round and not told and self._even >= AWAKE:
            self._lane.sleep(self, self._sequence.steps(), min(self._nap, self._left))

    def _rests(self) -> None:
        """The next period is heard in full."""
        self.on = False
        self._put_off.enter()

    def wake(self, periods: int, begun: int, inside: list[Open], foreign: bool) -> list[tuple[Any, Any]]:
        """So many periods have passed by, and so many calls of the present one have begun: from here on, calls are
        compared."""
        steps = self._sequence.steps()[:begun]
        self._passed_by(periods)
        begun_here, open_here = (
            sum(one.call is not None for one in few) for few in (steps, [one for one, _, _ in inside])
        )
        now, marks = perf_counter(), 2 * begun_here - open_here
        self._passed = [(call.after if over else call.before, now) for call, over in self._order[:marks]]
        self._at = begun_here
        self._seen()
        woken, waiting = list[tuple[Any, Any]](), list(inside)
        for step in steps:
            if waiting and waiting[0][0] is step:
                _, args, kwargs = waiting.pop(0)
                woken += [] if foreign else self._resumed(step, args, kwargs)
            elif step.call is not None:
                step.call.again.passed(step.call.known, 1)
        if len(self._open) < open_here:  # a step that has raised, of which nobody said so; or in another thread
            self.leave()
        self._nap = 1 if begun else min(2 * self._nap, MOST)
        self._even = 0 if begun else self._even
        if self.on and not begun and self._left <= 0:
            self._rests()
        return woken

    def _passed_by(self, periods: int) -> None:
        if periods:
            for call in self._calls:
                call.again.passed(call.known, periods)
            self._left -= periods
            self._put_off.passed_by(periods)
            self.course.go_round(periods, read=False)

    def _resumed(self, step: Step, args: Any, kwargs: Any) -> list[tuple[Any, Any]]:
        """The listener and the token of a call that is open; nothing for one that is not any more."""
        call = step.call
        if call is None:
            if self._open and self._open[-1].listener is step.listener:
                self._open[-1].nested += 1
            return [(step.listener, args[0] if step.kept else None)]
        token = call.again.goes(call.known, args, kwargs)
        if token is None:
            return []
        self._open.append(call)
        return [(step.listener, token)]

    def _goes_on(self) -> None:
        """The events of the calls that were compared have happened again."""
        self._lane.wake()
        passed, told, self._told = self._passed, self._told, len(self._passed)
        for events, at in passed[told:]:
            self.course.go_on(events, at)

    def _of_a_period(self) -> Iterator[Entry]:
        """What a period enters."""
        for call, over in self._order:
            yield from call.again.enters(call.known, over)

    def _present(self) -> Iterator[Entry]:
        """What was not entered yet of the present period."""
        passed, entered, self._entered = self._order[: len(self._passed)], self._entered, len(self._passed)
        for call, over in passed[entered:]:
            yield from call.again.enters(call.known, over)

    def _written(self, listener: Hears, args: Any, kwargs: Any) -> Any:
        """The token of a call that is heard, and written down."""
        frames = self._frames()
        call = Call(listener, frames if listener.opens else frames[:1], args, kwargs, again=listener.again)
        self._calls.append(call)
        self._sequence.add(listener, call, len(self._open), args)
        self._order.append((call, False))
        self._open.append(call)
        passed = self.course.passed
        said = listener.hear(args, kwargs)
        call.before = self.course.passed - passed
        return said

    def _rewrite(self) -> None:
        """What was written down is of no use."""
        self._writing = self._ready = False
        self._calls, self._order, self._open, self._passed = [], [], [], []
        self._at = self._told = self._entered = self._even = 0

    def leave(self) -> None:
        """What follows is heard, and what waits is gone through."""
        self._lane.wake()
        was, self.on = self._ready, False
        if was:
            self._rest = self._skipped = min(2 * self._rest + 1, MOST_REST)
            self._goes_on()
            self._put_off.leave()
        self._rewrite()
        if was:
            self.course.catch_up()
            self._measured.steady(False)

    def _opens(self) -> None:
        """A call that begins a micro-step: a period may begin with it, and what is written down end."""
        if self._open:  # a step that has raised: nobody says so
            self.leave()
        begins = self.course.at == self._begin
        if self._writing and begins and self._calls:
            self._writing, self._ready = False, True
            self._round = sum(call.before + call.after for call in self._calls) == len(self.course.script)
            self._measured.steady(True)
        if self._ready and begins and self._calls and self._measured.fresh():
            self._at, self._left = 0, self._measured.unfollowed(UNHEARD)
            self.on = self._left > 0
        elif self._skipped:
            self._skipped -= 1
        elif not self._ready and not self._writing and self._measured.fresh():
            self._calls, self._order, self._begin, self._writing = [], [], self.course.at, True
            self._sequence = Sequence()
            self._thread = get_ident()
            self._measured.steady(False)

    def _frames(self) -> Frames:
        """The user's frames above the listener: how far above it, code and instruction."""
        found: list[tuple[int, CodeType, int]] = []
        frame: FrameType | None = sys._getframe(ABOVE + 1)
        depth = ABOVE
        while frame is not None and depth < DEEPEST and len(found) < MAX_STACK:
            if self._sites.is_users(frame.f_code, bool(found)):
                found.append((depth, frame.f_code, frame.f_lasti))
            depth, frame = depth + 1, frame.f_back
        return tuple(found)


def _stands(frames: Frames) -> bool:
    """Whether these frames are above the listener."""
    try:
        for depth, code, instruction in frames:
            frame = sys._getframe(depth)
            if frame.f_code is not code or frame.f_lasti != instruction:
                return False
    except ValueError:  # there are not so many
        return False
    return True
