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
from runtime_guard.frames import PASSED_OVER

MAX_STACK = 8
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Owner(Enum):
    """Whose code a frame runs."""

    OURS = "torch's or this package's"
    LIBRARY = "installed"
    USER = "the user's"


_USER, _LIBRARY = Owner.USER, Owner.LIBRARY
Place = tuple[Site, ...]


def _elsewhere() -> set[str]:
    """The folders of packages that are installed beside those of this environment: the user's own, the system's."""
    named = (entry for entry in sys.path if os.path.basename(entry) in ("site-packages", "dist-packages"))
    return {entry + os.sep for entry in named}


class Sites:
    """The places seen so far. `code_of` leads from a site back to the function that it stands in.

    A place is a site, after a stand-in for the calls that led to it: it is hashed and compared again and again. `chain`
    leads from a place to those calls.
    """

    def __init__(self, torch_folder: str) -> None:
        self._ours = (torch_folder + os.sep, _HERE, "<frozen ", "<eval_with_key>", PASSED_OVER)
        paths = sysconfig.get_paths()
        self._packages = tuple({paths["purelib"] + os.sep, paths["platlib"] + os.sep, *_elsewhere()})
        self._libraries = tuple({paths["stdlib"] + os.sep, paths["platstdlib"] + os.sep, *self._packages})
        self._owners: dict[str, Owner] = {}
        self._places: dict[tuple[int, ...], Place] = {}
        self.code_of: dict[Site, CodeType] = {}
        self._kept: set[CodeType] = set()  # a code object that is gone could leave its identity to another
        self.chain: dict[Place, Place] = {}
        self.framed: set[Place] = set()  # where an installed package stands between the user's code and torch

    def stack(self) -> Place:
        """The user's place that is running and what stands for the calls that led to it."""
        key: list[int] = []
        spare: tuple[int, ...] = ()
        walker: FrameType | None = sys._getframe(1)
        owners, most = self._owners, 2 * MAX_STACK
        while walker is not None and len(key) < most:
            code = walker.f_code
            owner = owners.get(code.co_filename) or self.owner(code.co_filename)
            if owner is _USER or (owner is _LIBRARY and key):
                key += (id(code), walker.f_lasti)
            elif owner is _LIBRARY and not spare:
                spare = (id(code), walker.f_lasti)
            walker = walker.f_back
        found = tuple(key) or spare
        return self._places.get(found) or self._place(found)

    def is_users(self, code: CodeType, inside: bool) -> bool:
        """Whether a frame of this code belongs to a place: the user's; a library's, `inside` of the user's frames."""
        owner = self.owner(code.co_filename)
        return owner is _USER or (owner is _LIBRARY and inside)

    def is_of_user(self, code: CodeType) -> bool:
        """Whether a code is the user's own."""
        return self.owner(code.co_filename) is Owner.USER

    def is_ours(self, code: CodeType) -> bool:
        """Whether a code is torch's, or of this package."""
        return self.owner(code.co_filename) is Owner.OURS

    def _place(self, key: tuple[int, ...]) -> Place:
        """The place of a key that is met for the first time, while its frames still run."""
        if not key:
            return (Site("<unknown>", 0),)
        codes = self._codes(key[::2])
        sites = [_located(code, instruction) for code, instruction in zip(codes, key[1::2], strict=True)]
        self._kept.update(codes)
        self.code_of.update(zip(sites, codes, strict=True))
        whole = tuple(reversed(sites))
        calls = () if len(whole) == 1 else (Site("<calls>", len(self._places) + 1),)
        known = next((place for place, chain in self.chain.items() if chain == whole), None)
        place = self._places[key] = known or (*calls, whole[-1])
        self.chain[place] = whole
        if self._framed():
            self.framed.add(place)
        return place

    def _framed(self) -> bool:
        """Whether the user's code has not called torch by itself."""
        walker: FrameType | None = sys._getframe(1)
        while walker is not None and (owner := self.owner(walker.f_code.co_filename)) is not Owner.USER:
            if owner is Owner.LIBRARY:
                return True
            walker = walker.f_back
        return False

    def inside(self, filename: str) -> str:
        """Where a file lies below the folder of installed packages, with `/`; "" for others."""
        folder = next((folder for folder in self._packages if filename.startswith(folder)), None)
        return filename[len(folder) :].replace(os.sep, "/") if folder is not None else ""

    def _codes(self, identities: tuple[int, ...]) -> list[CodeType]:
        """The code objects of running frames, by their identities."""
        running: dict[int, CodeType] = {}
        walker: FrameType | None = sys._getframe(1)
        while walker is not None:
            running[id(walker.f_code)] = walker.f_code
            walker = walker.f_back
        return [running[identity] for identity in identities]

    def frames(self, most: int = 3) -> list[FrameType]:
        """The innermost frames of the user's."""
        found: list[FrameType] = []
        walker: FrameType | None = sys._getframe(1)
        while walker is not None and len(found) < most:
            if self.owner(walker.f_code.co_filename) is Owner.USER:
                found.append(walker)
            walker = walker.f_back
        return found

    def caller_file(self) -> str:
        """The file whose code made the call that is listened to, torch's files included; "" when there is none."""
        walker: FrameType | None = sys._getframe(1)
        while walker is not None:
            name = walker.f_code.co_filename
            if not name.startswith((_HERE, PASSED_OVER)) and not name.endswith("eval_frame.py"):
                return name
            walker = walker.f_back
        return ""

    def owner(self, filename: str) -> Owner:
        """Whose code a file holds."""
        owner = self._owners.get(filename)
        if owner is None:
            if filename.startswith(self._ours):
                owner = Owner.OURS
            else:
                owner = Owner.LIBRARY if filename.startswith(self._libraries) else Owner.USER
            self._owners[filename] = owner
        return owner


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
