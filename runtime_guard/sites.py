"""Places in the user's code, from the frames that are running.

A place is kept as code object and instruction (about a microsecond) and turned into rows and columns once. A site is
the innermost frame that is the user's: not torch, not this package, not the standard library, not an installed package
(unless nothing else is left). The frames outside it tell two calls of one helper apart.
"""

from __future__ import annotations

import dis
import os
import sys
import sysconfig
from enum import Enum
from itertools import islice
from types import CodeType, FrameType

from amplint.protocol.events import Site
from runtime_guard.trampolines import PASSED_OVER

MAX_STACK = 8
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Owner(Enum):
    """Whose code a frame runs."""

    OURS = "torch's or this package's"
    LIBRARY = "installed"
    USER = "the user's"


class Sites:
    """The places seen so far. `code_of` leads from a place back to the function that it stands in."""

    def __init__(self, torch_folder: str) -> None:
        self._ours = (torch_folder + os.sep, _HERE, "<frozen ", "<eval_with_key>", PASSED_OVER)
        paths = sysconfig.get_paths()
        self._libraries = tuple({paths[name] + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")})
        self._owners: dict[str, Owner] = {}
        self._known: dict[tuple[CodeType, int], Site] = {}
        self.code_of: dict[Site, CodeType] = {}

    def stack(self, frame: FrameType | None = None) -> tuple[Site, ...]:
        """The user's place that is running and the calls that led to it, outermost first; at least one site."""
        inner = frame if frame is not None else sys._getframe(1)
        found: list[Site] = []
        spare: Site | None = None
        walker: FrameType | None = inner
        while walker is not None and len(found) < MAX_STACK:
            owner = self._owner(walker.f_code.co_filename)
            if owner is Owner.USER or (owner is Owner.LIBRARY and found):
                found.append(self._site(walker.f_code, walker.f_lasti))
            elif owner is Owner.LIBRARY and spare is None:
                spare = self._site(walker.f_code, walker.f_lasti)
            walker = walker.f_back
        return tuple(reversed(found)) or (spare or Site("<unknown>", 0),)

    def frames(self, most: int = 3) -> list[FrameType]:
        """The innermost frames of the user's."""
        found: list[FrameType] = []
        walker: FrameType | None = sys._getframe(1)
        while walker is not None and len(found) < most:
            if self._owner(walker.f_code.co_filename) is Owner.USER:
                found.append(walker)
            walker = walker.f_back
        return found

    def caller_file(self, frame: FrameType | None = None) -> str:
        """The file whose code made the call that is listened to, torch's files included; "" when there is none."""
        walker: FrameType | None = frame if frame is not None else sys._getframe(1)
        while walker is not None:
            name = walker.f_code.co_filename
            if not name.startswith((_HERE, PASSED_OVER)) and not name.endswith("eval_frame.py"):
                return name
            walker = walker.f_back
        return ""

    def _owner(self, filename: str) -> Owner:
        owner = self._owners.get(filename)
        if owner is None:
            if filename.startswith(self._ours):
                owner = Owner.OURS
            else:
                owner = Owner.LIBRARY if filename.startswith(self._libraries) else Owner.USER
            self._owners[filename] = owner
        return owner

    def _site(self, code: CodeType, instruction: int) -> Site:
        key = (code, instruction)
        site = self._known.get(key)
        if site is None:
            site = self._known[key] = _located(code, instruction)
            self.code_of[site] = code
        return site


def _located(code: CodeType, instruction: int) -> Site:
    """The span of an instruction; before Python 3.11, which keeps no columns, its row and which instruction it is."""
    path, at = code.co_filename, max(instruction, 0)
    if hasattr(code, "co_positions"):
        row, end_row, column, end_column = next(islice(code.co_positions(), at // 2, None), (None,) * 4)
        if row is not None and column is not None:
            return Site(path, row, column + 1, end_row or row, (end_column or column) + 1)
        return Site(path, row or code.co_firstlineno)
    rows = [line for start, line in dis.findlinestarts(code) if start <= at and line is not None]
    return Site(path, rows[-1] if rows else code.co_firstlineno, at + 1)
