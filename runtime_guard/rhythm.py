"""The calls of a loop that does the same window after window, each compared with the one that is expected.

Once the events of a loop have fallen into a rhythm (`course`), the calls that make them are written down for one
period: which listener hears them, from which line of which frames, with which objects and numbers. In the periods that
follow a call is compared with what was written down, as little as possible is read (whether gradients have changed, the
numbers that a loss was multiplied and divided by), and everything else is put off: the events and figures of many
windows are gone through in one go. What is done between two heavy operations of a model finds the processor's caches
empty, and costs several times as much as the same done at once.

The first thing that is not as expected ends it, before anything of that call is done: what waits is gone through, and
the call is heard like any other. Now and then a whole period is heard in full (`UNHEARD`, and the windows that the
gradient ledger follows), and the rhythm goes on if it was the same.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, Protocol

from runtime_guard.course import Course
from runtime_guard.sites import MAX_STACK, Sites

UNHEARD = 63
"""So many periods at most are compared before one is heard in full."""

DEEPEST = 64
MOST_REST = 256
"""So many micro-steps at most are let go by before calls are written down again, after a period that was not kept."""

Chain = tuple[tuple[CodeType, int | None], ...]


class Again(Protocol):
    """What a kind of call is compared by."""

    def read(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """The arguments, of which something had to be read."""

    def silent(self, args: Any, kwargs: Any) -> bool:
        """Whether nothing comes of the call, as where the thread is inside of one that speaks for it."""

    def known(self, args: Any, kwargs: Any, token: Any, result: Any) -> Any:
        """What is written down of a call that was heard; None if the next one has to be heard as well."""

    def begins(self, known: Any, args: Any, kwargs: Any) -> Any:
        """The token of a call that begins as the known one did; None for another one, and then nothing was done."""

    def ends(self, known: Any, token: Any, result: Any) -> bool:
        """Whether it ended as the known one did; if not, nothing was done."""


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
    """A call of a period. `before`, `after`: the events at its beginning and end; `end`: the calls up to its end."""

    listener: Hears
    chain: Chain
    args: Any = None
    kwargs: Any = None
    known: Any = None
    before: int = 0
    after: int = 0
    end: int = 0
    nested: int = 0


class Measured(Protocol):
    """What is measured of the windows of a loop."""

    def fresh(self) -> bool:
        """Whether no window has begun."""

    def unfollowed(self, most: int) -> int:
        """How many windows, at most so many, may come before one that is to be followed."""

    def steady(self, begun: bool) -> None:
        """To be told that windows like those since it was last told come again, or do so no longer."""


class Rhythm:
    """The calls of a period, and where in it the loop is. `on`: they are compared now."""

    def __init__(self, course: Course, sites: Sites, lock: Any, measured: Measured) -> None:
        self.on = False
        self.course, self._sites, self._lock, self._measured = course, sites, lock, measured
        self._calls: list[Call] = []
        self._ready = self._writing = False
        self._begin = self._at = self._left = self._rest = self._skipped = 0
        self._open: list[Call] = []
        self._thread = 0
        course.left = self.leave

    def before(self, listener: Hears, args: Any, kwargs: Any) -> Any:
        """The token of a call: compared with the one that is expected, or heard."""
        again = listener.again
        if again is None or not self.course.script:
            return listener.hear(args, kwargs)
        if again.silent(args, kwargs):
            if self._open and self._open[-1].listener is listener:
                self._open[-1].nested += 1
            return listener.hear(args, kwargs)
        with self._lock:
            if self._calls and threading.get_ident() != self._thread:
                self.leave()
            if not self.on and listener.opens:
                self._opens()
            if self.on:
                args, kwargs = again.read(args, kwargs)
                said = self._compared(listener, args, kwargs)
                if said is not None:
                    return said
            if not self._writing:
                return listener.hear(args, kwargs)
            return self._written(listener, args, kwargs)

    def after(self, listener: Hears, token: Any, result: Any) -> None:
        """The end of a call."""
        call = self._open[-1] if self._open else None
        if call is None or call.listener is not listener or call.nested or threading.get_ident() != self._thread:
            if call is not None and call.listener is listener:
                call.nested -= 1
            listener.hear_out(token, result)
            return
        with self._lock:
            self._open.pop()
            again = listener.again
            if self.on:
                if self._at == call.end and again is not None and again.ends(call.known, token, result):
                    self._pass(call.after)
                    return
                self.leave()
            passed = self.course.passed
            listener.hear_out(token, result)
            if self._writing and again is not None:
                call.after, call.end = self.course.passed - passed, len(self._calls)
                call.known = again.known(call.args, call.kwargs, token, result)
                call.args = call.kwargs = None
                if call.known is None:
                    self._rewrite()

    def _written(self, listener: Hears, args: Any, kwargs: Any) -> Any:
        """The token of a call that is heard, and written down."""
        call = Call(listener, self._chain(), args, kwargs)
        self._calls.append(call)
        self._open.append(call)
        passed = self.course.passed
        said = listener.hear(args, kwargs)
        call.before = self.course.passed - passed
        return said

    def _rewrite(self) -> None:
        """What was written down is of no use."""
        self._writing = self._ready = False
        self._calls, self._open, self._at = [], [], 0

    def leave(self) -> None:
        """What follows is heard, and what waits is gone through."""
        was, self.on = self._ready, False
        if was:
            self._rest = self._skipped = min(2 * self._rest + 1, MOST_REST)
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
            self._measured.steady(True)
        if self._ready and begins and self._measured.fresh():
            self._at, self._left = 0, self._measured.unfollowed(UNHEARD)
            self.on = self._left > 0
        elif self._skipped:
            self._skipped -= 1
        elif not self._ready and not self._writing and self._measured.fresh():
            self._calls, self._begin, self._writing = [], self.course.at, True
            self._thread = threading.get_ident()
            self._measured.steady(False)

    def _compared(self, listener: Hears, args: Any, kwargs: Any) -> Any:
        if self._at == len(self._calls):
            self._at, self._left, self._rest = 0, self._left - 1, 0
            if self._left <= 0:  # this period is heard
                self.on = False
                self.course.catch_up()
                return None
        call = self._calls[self._at]
        again = listener.again
        if (
            call.listener is listener
            and again is not None
            and threading.get_ident() == self._thread
            and _stands(call.chain)
            and (said := again.begins(call.known, args, kwargs)) is not None
        ):
            self._at += 1
            self._open.append(call)
            self._pass(call.before)
            return said
        self.leave()
        return None

    def _pass(self, events: int) -> None:
        for _ in range(events):
            self.course.goes_on()

    def _chain(self) -> Chain:
        """The running frames above the listener: code and instruction, of torch's and ours the code alone."""
        found: list[tuple[CodeType, int | None]] = []
        frame: FrameType | None = sys._getframe(4)
        users = 0
        while frame is not None and len(found) < DEEPEST and users < MAX_STACK:
            users += self._sites.is_users(frame.f_code, users > 0)
            found.append((frame.f_code, None if self._sites.is_ours(frame.f_code) else frame.f_lasti))
            frame = frame.f_back
        return tuple(found)


def _stands(chain: Chain) -> bool:
    """Whether the frames above the listener are those of a chain."""
    frame: FrameType | None = sys._getframe(4)
    for code, instruction in chain:
        if frame is None or frame.f_code is not code:
            return False
        if instruction is not None and frame.f_lasti != instruction:
            return False
        frame = frame.f_back
    return True
