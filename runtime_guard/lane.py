"""Windows of a loop that has been steady for long: only the sequence of their calls is compared, and nothing is read.

Comparing a call with what is known of it (`rhythm`) means to read the graph of a loss and the versions of gradients.
Once that has come out the same for `AWAKE` windows in a row, up to `MOST` windows pass by between two that are
compared. Of these it is still seen, of every call, that it is the one that is expected, from the same line and of the
same object, that no call is missing and none is added, that no step was skipped and no loss scale has changed. What
only numbers show (another divisor, gradients changed by hand) is seen in the windows that are compared, and the report
says in how many windows the weights were read.

The first call that is not as expected wakes the rhythm, before anything of that call is done.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from threading import get_ident
from types import CodeType
from typing import Any, NamedTuple, Protocol

from torch import Tensor

AWAKE = 64
"""So many windows are compared one after the other before any passes by."""

MOST = 31
"""So many pass by at most between two that are compared: one at first, then twice as many each time."""


_frame = sys._getframe


class Hears(Protocol):
    """A listener."""

    def hear_out(self, token: Any, result: Any) -> None:
        """The end of a call that was heard in full."""

    def after(self, token: Any, result: Any) -> None:
        """The end of a call that was listened to as ever."""

    def abandon(self, token: Any) -> None:
        """The end of one that raised."""


class Step(NamedTuple):
    """A call of a period, in order. `code`, `instruction`: of the user's frame, so many above the listened function;
    None where it does not matter. `level`: the calls that it is inside of. `thing`: the object whose method it is.
    `end`: how many calls have begun when it ends. `stays`: whether what must not change is what it was. `call`: as the
    rhythm knows it, None for one of which nothing comes. `kept`: what it returns is to be heard of when it wakes."""

    listener: Any
    depth: int
    code: CodeType | None
    instruction: int
    level: int
    thing: weakref.ref[Any] | None
    end: int
    call: Any
    stays: Callable[[], bool] | None
    kept: bool


_NOTHING = Step(None, 0, None, 0, 0, None, 0, None, None, False)
"""What is expected after the last call of a period whose end was not told."""

_UNHEARD = object()
"""In place of the token of a call that ran while another thread woke the rhythm."""

Open = tuple[Step, Any, Any]
Kept = tuple[Any, Any, Callable[[], Any]]


class Sleeper(Protocol):
    """What is woken."""

    def wake(self, periods: int, begun: int, inside: list[Open], foreign: bool) -> list[tuple[Any, Any]]:
        """So many whole periods have passed, and of the present one so many calls have begun, of which some are open.
        The listeners and tokens of these, outermost first. `foreign`: told by another thread; then there are none."""


class Lane:
    """The calls of a period, and how far they have come. `steps`: None while no window passes by.

    `woken`: the listeners and tokens of calls that were open when it was woken, outermost first. `failed` is told of
    what breaks in here; then no window passes by any more. `awake`: none ever does. `due`: whether a window is to be
    looked at for another reason.
    """

    __slots__ = (
        "_at", "_awake", "_before", "_due", "_end", "_failed", "_inside", "_kept", "_lock", "_most", "_periods",
        "_sleeper", "_thread", "steps", "woken",
    )  # fmt: skip

    def __init__(
        self,
        lock: Any,
        failed: Callable[[Exception], object],
        awake: bool = False,
        due: Callable[[], bool] = lambda: False,
    ) -> None:
        self._lock, self._failed, self._awake, self._due = lock, failed, awake, due
        self._sleeper: Sleeper | None = None
        self.steps: tuple[Step, ...] | None = None
        self._at = self._end = self._periods = self._most = self._thread = 0
        self._inside: list[Open] = []
        self.woken: list[tuple[Any, Any]] = []
        self._kept: list[Kept] = []
        self._before: list[Kept] = []

    def sleep(self, sleeper: Sleeper, steps: tuple[Step, ...], most: int) -> None:
        """Lets so many periods pass by, of calls that are these."""
        self._sleeper, self._most, self._thread = sleeper, most, get_ident()
        self._at = self._periods = 0
        self._inside, self.woken, self._kept, self._before = [], [], [], []
        self._end, self.steps = len(steps), None if self._awake else (*steps, _NOTHING)

    def begins(self, listener: Hears, args: Any, kwargs: Any) -> bool:
        """Whether a call is the one that is expected. If not, nothing passes by any more.

        No lock is taken: what another thread sees while it wakes the rhythm is at worst a call that has ended early.
        """
        try:
            steps = self.steps
            if steps is None:
                return False
            heard, depth, code, instruction, level, thing, _, _, _, _ = step = steps[self._at]
            inside = self._inside
            if heard is listener and level == len(inside) and get_ident() == self._thread:
                frame = _frame(depth) if code is not None else None
                stands = frame is None or (frame.f_code is code and frame.f_lasti == instruction)
                if stands and (thing is None or thing() is args[0]):
                    self._at += 1
                    inside.append((step, args, kwargs))
                    return True
            self.wake()
        except Exception as error:
            self._fails(error)
        return False

    def ends(self, listener: Hears, result: Any) -> bool:
        """The end of a call. Returns whether it was one that was expected when it began."""
        try:
            inside = self._inside
            if self.steps is not None:
                if not inside or inside[-1][0][0] is not listener:
                    return False
                (_, _, _, _, level, _, end, _, stays, keeps), args, _ = inside[-1]
                if end == self._at and (stays is None or stays()):
                    inside.pop()
                    if keeps:
                        held = weakref.ref(result) if type(result) is Tensor else lambda: result
                        self._kept.append((listener, args[0], held))
                    elif not level and end == self._end:
                        self._over()
                    return True
                self.wake()
        except Exception as error:
            self._fails(error)
        return self._out(listener, listener.after, result)

    def raised(self, listener: Hears) -> None:
        """The end of a call that was expected when it began, and has raised."""
        try:
            self.wake()
        except Exception as error:
            self._fails(error)
        while self.woken and self.woken[-1][0] is not listener:  # an optimizer's step, of which nobody says so
            self.woken.pop()
        self._out(listener, listener.abandon)

    def wake(self) -> None:
        """Nothing passes by any more: the rhythm is told how far the calls have come."""
        with self._lock:
            if self.steps is None or self._sleeper is None:
                return
            self.steps = None
            inside, self._inside = self._inside, []
            foreign = get_ident() != self._thread
            woken = self._sleeper.wake(self._periods, self._at, inside, foreign)
            self.woken = [(step.listener, _UNHEARD) for step, _, _ in inside] if foreign else woken
            for listener, token, held in (*self._before, *self._kept):
                result = held()
                if result is not None:
                    listener.hear_out(token, result)
            self._kept, self._before = [], []

    def _over(self) -> None:
        """A period is over."""
        self._before, self._kept = self._kept, []
        self._at, self._periods = 0, self._periods + 1
        if self._periods >= self._most or self._due():
            self.wake()

    def _out(self, listener: Hears, told: Callable[..., object], *result: Any) -> bool:
        """Tells the end of a call that began before the rhythm was woken, as that of any call."""
        if not self.woken or self.woken[-1][0] is not listener:
            return False
        _, token = self.woken.pop()
        if token is not _UNHEARD:
            told(token, *result)
        return True

    def _fails(self, error: Exception) -> None:
        self._awake = True
        self._failed(error)
        if self.steps is not None:  # what has passed by until now is not lost
            self.wake()
