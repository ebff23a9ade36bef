"""What is measured in a steady loop, and entered later: of whole periods it is counted how many there were.

What a period leaves to be entered is the same every time, but for the few values that are not compared (the norm of the
gradients, the learning rate). So the functions that enter it are called of a period that is not over alone, and of the
others the accounts are told how often they are to do again what they did in the period that was written down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from runtime_guard.course import Course
from runtime_guard.windows import Account

Entry = tuple[Any, ...]
"""A function that enters something, and its arguments."""


class Repeated(Protocol):
    """What is measured of the windows of a loop."""

    def repeated(self, periods: int, unread: int = 0) -> None:
        """Enters so many periods like the one that was written down, and so many of which the numbers were not read."""


class Runs(Protocol):
    """What runs functions that may fail."""

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """What a function returns."""


class PutOff:
    """What waits to be entered: how many periods have passed whole, what the calls of the present one enter, and the
    values, each with the number of its period.

    `whole` yields what the calls of a period enter, `present` what was not entered of the present one.
    """

    def __init__(self, measures: Runs, numbers: Repeated, course: Course) -> None:
        self._measures, self._numbers = measures, numbers
        course.measured = self.enter
        self._values: list[tuple[Account, str, float | None, int]] = []
        self._periods = self._unread = 0
        self._begun = False
        self.whole: Callable[[], Iterable[Entry]] = tuple
        self.present: Callable[[], Iterable[Entry]] = tuple

    def value(self, account: Account, name: str, value: float | None) -> None:
        """A value that may be another one in each period."""
        self._values.append((account, name, value, self._periods))

    def over(self) -> None:
        """The present period is over: counted, unless it was begun to be entered."""
        if self._begun:
            self._present()
            self._begun = False
        else:
            self._periods += 1

    def passed_by(self, periods: int) -> None:
        """So many periods have passed whole, of which the numbers were not read."""
        self._periods += periods
        self._unread += periods

    def leave(self) -> None:
        """Enters everything; the next period is another one."""
        self.enter()
        self._begun = False

    def enter(self) -> None:
        """Enters everything until now. The last of the whole periods is entered as if it were the only one, so that the
        rules about numbers are asked."""
        if self._values or self._periods:
            values, self._values = self._values, []
            unread, self._unread = self._unread, 0
            read, self._periods = self._periods - unread, 0
            self._measures.run(self._enter_values, values)
            if read > 1 or unread:
                self._measures.run(self._numbers.repeated, max(read - 1, 0), unread)
            for function, *args in self.whole() if read else ():
                self._measures.run(function, *args)
        self._present()

    def _present(self) -> None:
        for function, *args in self.present():
            self._begun = True
            self._measures.run(function, *args)

    def _enter_values(self, values: list[tuple[Account, str, float | None, int]]) -> None:
        for account, name, value, period in values:
            account.take(name, value, account.number + period * account.closings)
