"""What a framework brings about: read from its frames, between the user's call and torch.

A framework that is called divides, scales, clips, gates or steps for the user. Its frames run while torch is called, so
that they tell whose doing an event is, whether the framework runs the training loop, by how many micro-steps it
divides, and which function of the user's has made the loss that it takes to its backward. What stands where is data, in
`amplint.dialects`; nothing of a framework is imported or replaced, and its objects are only read.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isclose
from types import CodeType, FrameType
from typing import Any

from amplint.dialects import DIALECTS
from amplint.dialects.dialect import Dialect, Live
from amplint.protocol.events import RUN_WHOLE, Site
from runtime_guard.sites import Owner, Place, Sites

_NOBODY: dict[str, str] = {}
_LIVE = tuple((dialect, dialect.live) for dialect in DIALECTS if dialect.live is not None)


@dataclass(frozen=True)
class Division:
    """By how many micro-steps a framework divides; `outside`: the context that was never entered for them."""

    length: int
    outside: str | None = None

    def detail(self, weight: float | None) -> dict[str, str]:
        """What is said of a backward of this weight, if the division explains it."""
        if weight is None or self.length < 2 or not isclose(weight * self.length, 1, rel_tol=1e-6):
            return _NOBODY
        said = {"divisor": str(self.length)}
        return said if self.outside is None else {**said, "outside": self.outside}


@dataclass(frozen=True)
class Brought:
    """A backward that a framework has brought about: where the user's code made the loss, and what is said of it."""

    place: Place
    detail: dict[str, str] = field(default_factory=dict)
    division: Division | None = None


@dataclass(frozen=True)
class Maker:
    """A function of the user's that makes the loss which a framework's loop takes on: what the framework calls it, its
    own name, its code, and whose loop that is."""

    attribute: str
    name: str
    code: CodeType
    loop: str


class Frameworks:
    """The frameworks of a run. `looped`: places outside of a framework's own training loop: what surrounds them there
    tells no micro-steps apart."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self._of_file: dict[str, tuple[Dialect, Live] | str | None] = {}
        self._moved: dict[tuple[Place, Site], Place] = {}
        self._own: dict[Place, Brought] = {}
        self._surrounded: dict[Place, bool] = {}
        self._set_up: dict[Place, bool] = {}
        self._hooks: dict[Site, Place] = {}  # wherever the framework calls one from, it is the same step of the program
        self.looped: set[Place] = set()

    def told(self, place: Place, detail: dict[str, str]) -> dict[str, str]:
        """The detail of an event with whose doing it is, and how the framework spells its own calls; as it is for what
        the user does."""
        if place not in self._sites.framed:
            return detail
        said = self._said(place, list(self._between()))
        return {**said, **detail} if said else detail

    def loss(self, place: Place) -> Brought:
        """What is known of a backward that begins now."""
        if place not in self._sites.framed:
            known = self._own.get(place)
            if known is None:
                known = self._own[place] = self._by_user(place)
            return known
        frames = list(self._between())
        said = self._said(place, frames)
        if not said and (library := next((name for name in map(self._package, frames) if name), None)):
            said = {"through": library}  # what a library back-propagates is not torch's backward, called by the user
        divisions = list(filter(None, map(self._division, frames)))
        division = divisions[0] if divisions else None
        if self._undivided(frames, divisions):
            said = {**said, "undivided": "yes"}
        maker = next(filter(None, map(self._maker, frames)), None) if place in self.looped else None
        if maker is None:
            return Brought(place, said, division)
        said = {**said, maker.attribute: maker.name, "framework": maker.loop}
        return Brought(self._moved_to(place, maker.code), said, division)

    def _undivided(self, frames: list[FrameType], divisions: list[Division]) -> bool:
        """Whether no framework that a loss goes through divides it: by configuration, or because none ever does."""
        if divisions:
            return all(division.length == 1 for division in divisions)
        known = list(filter(None, map(self._known, frames)))
        return bool(known) and all(dialect.leaves_division for dialect, _ in known)

    def surrounds(self, place: Place) -> bool:
        """Whether a framework's training loop has called the user's code, perhaps in an autocast region of its own."""
        known = self._surrounded.get(place)
        if known is None:
            known = self._surrounded[place] = place in self.looped or any(
                (pair := self._of(site.path)) is not None and pair[1].loops
                for site in self._sites.chain.get(place, place)
            )
        return known

    def knows(self, place: Place) -> bool:
        """Whether a framework that is known stands between torch and the user's code."""
        return place in self._sites.framed and "through" in self.told(place, _NOBODY)

    def has(self, file: str) -> bool:
        """Whether a file belongs to a framework that is known."""
        return bool(file) and self._of(file) is not None

    def sets_up(self, place: Place) -> bool:
        """Whether a framework makes what it needs for itself: what it steps meanwhile is no step of the training."""
        if place not in self._sites.framed:
            return False
        known = self._set_up.get(place)
        if known is None:
            pairs = ((frame, self._known(frame)) for frame in self._between())
            known = any(pair is not None and frame.f_code.co_name in pair[1].sets_up for frame, pair in pairs)
            self._set_up[place] = known
        return known

    def _between(self) -> Iterator[FrameType]:
        """The frames of installed packages between torch and the user's code, innermost first."""
        walker: FrameType | None = sys._getframe(1)
        while walker is not None:
            owner = self._sites.owner(walker.f_code.co_filename)
            if owner is Owner.USER:
                return
            if owner is Owner.LIBRARY:
                yield walker
            walker = walker.f_back

    def _said(self, place: Place, frames: list[FrameType]) -> dict[str, str]:
        found: dict[str, str] = {}
        for frame in frames:
            known = self._known(frame)
            if known is None:
                continue
            dialect, live = known
            found = {**found, **dialect.spelling, "through": dialect.name}
            found |= _by_itself(frame, live)
            if frame.f_code.co_name in live.loops:
                self.looped.add(place)
        return found

    def _known(self, frame: FrameType) -> tuple[Dialect, Live] | None:
        """The framework that a frame belongs to."""
        return self._of(frame.f_code.co_filename)

    def _of(self, name: str) -> tuple[Dialect, Live] | None:
        """The framework that a file belongs to."""
        if name not in self._of_file:
            inner = self._sites.inside(name)
            found = [pair for pair in _LIVE if any(inner.startswith(f"{folder}/") for folder in pair[1].folders)]
            self._of_file[name] = found[0] if found else inner.partition("/")[0] if "/" in inner else None
        known = self._of_file[name]
        return known if isinstance(known, tuple) else None

    def _package(self, frame: FrameType) -> str | None:
        """The installed package that a frame belongs to, if it is no framework that we know."""
        known = self._of_file.get(frame.f_code.co_filename)
        return known if isinstance(known, str) else None

    def _division(self, frame: FrameType) -> Division | None:
        known = self._known(frame)
        attribute = known[1].windows.get(frame.f_code.co_name) if known is not None else None
        if known is None or attribute is None:
            return None
        owner = frame.f_locals.get("self")
        length = _held(owner, attribute)
        if type(length) is not int:
            return None
        context, count = known[1].context or (None, "")
        return Division(length, context if getattr(owner, count, None) == 0 else None)

    def _maker(self, frame: FrameType) -> Maker | None:
        """The user's function that has made the loss which a frame takes on to its backward."""
        known = self._known(frame)
        if known is None:
            return None
        dialect, live = known
        for attribute in live.losses.get(frame.f_code.co_name, ()):
            function = _inner(getattr(frame.f_locals.get("self"), attribute, None))
            for code in _codes(function):
                if self._sites.owner(code.co_filename) is Owner.USER:
                    loop = next((loop.name for loop in dialect.loops.values()), dialect.name)
                    return Maker(attribute, _name(function, code), code, loop)
        return None

    def _moved_to(self, place: Place, code: CodeType) -> Place:
        """The place of a function that a framework calls at a place."""
        site = Site(code.co_filename, code.co_firstlineno)
        key = (place, site)
        if key not in self._moved:
            moved = self._moved[key] = (*place, site)
            self._sites.chain[moved] = (*self._sites.chain.get(place, place), site)
            self._sites.code_of[site] = code
            self.looped.add(moved)
        return self._moved[key]

    def _by_user(self, place: Place) -> Brought:
        """A backward that the user's code calls by itself, unless a framework has asked for it."""
        if not self._is_hook():
            return Brought(place)
        return Brought(self._hooks.setdefault(place[-1], place), {"through": "its own hook"})

    def _is_hook(self) -> bool:
        """Whether the user's code that calls torch's backward is a framework's own hook for that."""
        walker: FrameType | None = sys._getframe(1)
        while walker is not None and self._sites.owner(walker.f_code.co_filename) is not Owner.USER:
            walker = walker.f_back
        if walker is None or walker.f_back is None:
            return False
        above = self._known(walker.f_back)
        return above is not None and walker.f_code.co_name in above[1].losses


def _held(owner: object, attribute: str) -> object:
    """What an object holds under a name, or what its method of that name returns; Ellipsis if it has neither."""
    found = getattr(owner, attribute, ...)
    return found() if inspect.ismethod(found) else found


def _by_itself(frame: FrameType, live: Live) -> dict[str, str]:
    """What the function of a frame does without being asked: it counts its calls, moves a schedule on, or runs a
    window whole."""
    name, owner = frame.f_code.co_name, frame.f_locals.get("self")
    found = {"moves": live.moves[name]} if name in live.moves else {}
    if name in live.plain and _held(owner, live.plain[name][0]) is True:
        found |= {"plain": str(_held(owner, live.plain[name][1]))}
    if type(length := frame.f_locals.get(live.whole.get(name, ""))) is int:
        found |= {RUN_WHOLE: str(length)}
    if name not in live.counts or any(_held(owner, one) != held for one, held in live.counting.items()):
        return found
    length = _held(owner, live.counts[name])
    return {**found, "calls": str(length)} if type(length) is int else found


def _inner(function: Any) -> Any:
    """A function or method without what is wrapped around it, or was given to it beforehand."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.unwrap(getattr(function, "__func__", function)) if callable(function) else None


def _codes(function: Any) -> Iterator[CodeType]:
    """The code of a function; of another object that is called, what its class does then, by itself or by torch."""
    called = (getattr(type(function), name, None) for name in ("__call__", "forward"))
    for one in (function, *called):
        code = getattr(inspect.unwrap(one), "__code__", None) if callable(one) else None
        if code is not None:
            yield code


def _name(function: Any, code: CodeType) -> str:
    """What a function is called where it stands: of an object that is called, with the name of its class."""
    name = code.co_name.strip("<>")
    return name if inspect.isfunction(function) else f"{type(function).__name__}.{name}"
