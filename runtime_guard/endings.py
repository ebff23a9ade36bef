"""How a guarded run has ended, and where: by itself, after the windows that were asked for, by an error or a signal.

A report that is written while the run goes on says so: where no later one is, the process was killed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import shorten
from types import CodeType, TracebackType
from typing import Any

from amplint.protocol.events import Site

_MOST = 120
"""So many characters of what an error says are repeated: its traceback stands elsewhere."""


class WindowsSeen(BaseException):
    """Raised in the user's code after as many windows as were asked for; not an error, and not to be caught there."""


class Terminated(BaseException):
    """What the guard is told to end with when the process is asked to terminate; it is never raised."""


@dataclass(frozen=True)
class Ending:
    """How a run has ended: one of `complete`, `left`, `stopped`, `raised`, `signal` and `unfinished`, in words, and the
    user's line if it is known."""

    how: str
    told: str
    site: Site | None = None

    @property
    def whole(self) -> bool:
        """Whether what a run has to do was done: what is known at its end only can be judged."""
        return self.how == "complete"

    def as_json(self) -> dict[str, Any]:
        """The ending for a report."""
        site = None if self.site is None else {"file": self.site.path, "line": self.site.row}
        return {"how": self.how, "told": self.told, "site": site}


COMPLETE = Ending("complete", "by itself")


def unfinished() -> Ending:
    """That of a report which is written now, while the run goes on."""
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    return Ending("unfinished", f"not yet: written at {now}, while the run went on; if it is over, it was killed")


def ending_of(
    error: BaseException | None, trace: TracebackType | None, windows: int, is_users: Callable[[CodeType], bool]
) -> Ending:
    """How a run has ended that has ended with an error, or with none. `is_users`: whether a code is the user's."""
    if error is None:
        return COMPLETE
    site = _innermost(trace, is_users)
    if isinstance(error, WindowsSeen):
        return Ending("stopped", f"stopped after {windows} window{'s'[: windows != 1]}, as asked", site)
    if isinstance(error, Terminated):
        return Ending("signal", "terminated by SIGTERM")
    if isinstance(error, KeyboardInterrupt):
        return Ending("signal", "interrupted by SIGINT", site)
    if isinstance(error, SystemExit):
        code = error.code
        return COMPLETE if code in (None, 0) else Ending("left", f"the script has left with status {code!r}", site)
    return Ending("raised", _words(error), site)


def plain_ending(error: BaseException | None) -> Ending:
    """The same, where nothing else can be told."""
    return COMPLETE if error is None else Ending("raised", f"raised {type(error).__name__}")


def _words(error: BaseException) -> str:
    """The class of an error, and the first line of what it says."""
    lines = str(error).strip().splitlines()
    return f"raised {type(error).__name__}{f': {shorten(lines[0], _MOST, placeholder=chr(8230))}' if lines else ''}"


def _innermost(trace: TracebackType | None, is_users: Callable[[CodeType], bool]) -> Site | None:
    """The user's innermost line of a traceback."""
    found = None
    while trace is not None:
        code = trace.tb_frame.f_code
        if is_users(code):
            found = Site(code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return found
