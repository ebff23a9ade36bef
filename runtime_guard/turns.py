"""Epochs of a loop over something that is no DataLoader, as the source and the variables of its loops show.

A list of batches runs out without a word. But where a loop over something lies in a loop over a `range`, and a backward
comes from the inner one, the variable of the outer one tells an epoch from the next. That is looked at in the first
backward passes only, and never while a loop runs as expected.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import CodeType, FrameType

from amplint.protocol.events import Event, Kind, Site

LOOKS = 256
"""So many backward passes are looked at."""

_Loop = ast.For | ast.While
_STEPS = (Kind.STEP, Kind.SCHEDULER_STEP)
Place = tuple[Site, ...]


@dataclass(frozen=True)
class _Batches:
    """A loop over batches: where it stands, and where the loop over epochs does that it lies in."""

    path: str
    rows: range
    around: tuple[str, range]

    def holds(self, site: Site) -> bool:
        """Whether a place lies in the loop."""
        return site.path == self.path and site.row in self.rows

    def lies_beside(self, site: Site) -> bool:
        """Whether a place lies in the loop over epochs."""
        path, rows = self.around
        return site.path == path and site.row in rows


class Turns:
    """The loops over batches that backward passes have come from, and those that were gone through more than once."""

    def __init__(self) -> None:
        self._looks = 0
        self._trees: dict[str, ast.Module | None] = {}
        self._loops: dict[tuple[CodeType, int], tuple[_Loop, ...]] = {}
        self._latest: dict[_Batches, object] = {}
        self._again: set[_Batches] = set()

    def passed(self, frames: list[FrameType]) -> None:
        """Takes note of the loops that a backward comes from. `frames`: the innermost ones of the user's."""
        if self._looks >= LOOKS:
            return
        self._looks += 1
        found = self._epoch(list(self.around(frames)))
        if found is None:
            return
        batches, turn = found
        if self._latest.setdefault(batches, turn) != turn:
            self._again.add(batches)
            self._latest[batches] = turn

    def names(self, last: Mapping[str, Mapping[Kind, Event]], chain: Mapping[Place, Place]) -> dict[str, str]:
        """The optimizers and schedulers that step in a loop over batches which was begun anew (`turned`), and those
        that step beside it, in the loop over epochs. `last`: their latest events; `chain`: the calls that led to a
        place."""
        steps = {name: events[kind] for name, events in last.items() for kind in _STEPS if kind in events}
        places = {name: event.step_of_program for name, event in steps.items()}
        found: dict[str, list[str]] = {"turned": [], "beside": []}
        for name, place in places.items():
            calls = chain.get(place, place)
            if any(batches.holds(site) for batches in self._again for site in calls):
                found["turned"].append(name)
            elif any(batches.lies_beside(site) for batches in self._again for site in calls):
                found["beside"].append(name)
        return {which: " ".join(names) for which, names in found.items()}

    def around(self, frames: list[FrameType]) -> Iterator[tuple[FrameType, _Loop]]:
        """The loops that are running, innermost first."""
        for frame in frames:
            key = (frame.f_code, frame.f_lineno)
            if key not in self._loops:
                self._loops[key] = tuple(self._found(*key))
            yield from ((frame, loop) for loop in self._loops[key])

    def loops_in(self, code: CodeType | None, frames: list[FrameType]) -> bool:
        """Whether a loop of a function is running."""
        return any(frame.f_code is code for frame, _ in self.around(frames))

    def _found(self, code: CodeType, row: int) -> list[_Loop]:
        tree = self._tree(code.co_filename)
        around = [
            node
            for node in (ast.walk(tree) if tree is not None else ())
            if isinstance(node, _Loop)
            and node.lineno < row <= (node.end_lineno or 0)
            and (code.co_name == "<module>" or node.lineno >= code.co_firstlineno)
        ]
        return sorted(around, key=lambda node: -node.lineno)

    def _tree(self, path: str) -> ast.Module | None:
        if path not in self._trees:
            try:
                self._trees[path] = ast.parse("".join(linecache.getlines(path)))
            except (SyntaxError, ValueError, RecursionError):
                self._trees[path] = None
        return self._trees[path]

    def _epoch(self, loops: list[tuple[FrameType, _Loop]]) -> tuple[_Batches, object] | None:
        """The loop over batches, the outermost one that lies directly in a loop over a range of epochs, and which
        epoch it is."""
        for (inner_frame, inner), (frame, outer) in reversed(list(pairwise(loops))):
            if isinstance(inner, ast.For) and isinstance(outer, ast.For):
                name = outer.target.id if isinstance(outer.target, ast.Name) and _counts(outer.iter) else None
                if name is None or (_counts(inner.iter) and "epoch" not in name.lower()):
                    continue  # a range in a range may count anything
                turn = frame.f_locals.get(name)
                if type(turn) is int:
                    around = (frame.f_code.co_filename, _rows(outer))
                    return _Batches(inner_frame.f_code.co_filename, _rows(inner), around), turn
        return None


def _rows(loop: _Loop) -> range:
    return range(loop.lineno, (loop.end_lineno or loop.lineno) + 1)


def _counts(value: ast.expr) -> bool:
    """Whether a loop counts: it goes over a `range`, or over one that a progress bar shows."""
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Name) and value.func.id == "range":
        return True
    return any(_counts(argument) for argument in value.args if isinstance(argument, ast.Call))
