"""Reports that are written while a run goes on, so that a process which is killed leaves the last one.

No thread is started and no signal used: at the end of an optimizer's step it is asked whether it is time. Writing takes
a small part of the time at most, however long it takes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

EVERY = 60.0
"""So many seconds pass between two reports."""

SHARE = 20
"""Between two reports pass at least so many times as many seconds as the first one took to write."""


class Interim:
    """Asks for a report every so many seconds; 0: after each step. Before it has begun, it is never time."""

    def __init__(self) -> None:
        self._every, self._next = 0.0, float("inf")
        self._write: Callable[[], None] = lambda: None

    def begin(self, every: float, write: Callable[[], None]) -> None:
        """From now on reports are written."""
        self._every, self._write = every, write
        self._next = time.monotonic() + every

    def end(self) -> None:
        """No report is written any more."""
        self._next = float("inf")

    def due(self) -> bool:
        """Whether it is time for one."""
        return time.monotonic() >= self._next

    def tell(self) -> None:
        """Writes one if it is time. A second one is not begun meanwhile."""
        if not self.due():
            return
        begun, self._next = time.monotonic(), float("inf")
        self._write()
        now = time.monotonic()
        self._next = now + max(self._every, SHARE * (now - begun) if self._every else 0.0)
