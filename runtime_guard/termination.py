"""What becomes of a run that is asked to terminate (SIGTERM), as a batch system or `timeout` does.

Alone, the interpreter dies at once, and no `finally` runs. Under the guard it dies of the same signal, after the report
was written. A handler of the script's own is in charge: it takes the place of this one, and where it calls what was
there before, nothing happens, as there was nothing. Children that are forked have the default again.

Python runs a handler between two instructions: a process that hangs in C does not end, and needs SIGKILL.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class _Handler:
    """Writes, and lets the process die of the signal."""

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write

    def __call__(self, number: int, frame: FrameType | None) -> None:
        known: object = signal.getsignal(number)
        if known is not self:
            return
        signal.signal(number, signal.SIG_DFL)
        try:
            self._write()
        finally:
            os.kill(os.getpid(), number)


@contextmanager
def reported(write: Callable[[], None]) -> Iterator[None]:
    """While the block runs, a SIGTERM that would end the process ends it after `write()`."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _Handler(write))
    try:
        yield
    finally:
        put_back()


def put_back() -> None:
    """What SIGTERM does by itself, unless the script has decided otherwise."""
    if isinstance(signal.getsignal(signal.SIGTERM), _Handler):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


_mask = threading.local()


def _hold() -> None:
    """A signal that reaches a child before it has the default again waits."""
    _mask.before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def _release() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _mask.before)


def _release_child() -> None:
    put_back()
    _release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release_child)
