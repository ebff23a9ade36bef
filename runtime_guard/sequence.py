"""The calls of a period that is heard in full, in order, as a `lane` compares them afterwards."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import CodeType
from typing import Any, Protocol

from runtime_guard.lane import Step

NEARER = 2
"""By so much less is a frame above the function that compares it in a lane than above the one that does in a rhythm."""


class Heard(Protocol):
    """A call as the rhythm has written it down."""

    frames: tuple[tuple[int, CodeType, int], ...]
    known: Any
    again: Any


@dataclass(eq=False)
class _Entry:
    """`end`: how many calls had begun when it was over; of one that holds no others that is known at once."""

    listener: Any
    call: Heard | None
    level: int
    thing: weakref.ref[Any] | None
    end: int


class Sequence:
    """Calls in the order in which they begin: those of the rhythm, and those of which nothing comes."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._steps: tuple[Step, ...] | None = None

    def add(self, listener: Any, call: Heard | None, level: int, args: Any) -> None:
        """A call begins, inside of so many others. `call`: None for one of which nothing comes."""
        owned = call is not None and call.again.owned
        thing = weakref.ref(args[0]) if owned else None
        self._entries.append(_Entry(listener, call, level, thing, len(self._entries) + 1))

    def over(self, call: Heard) -> None:
        """A call of the rhythm is over."""
        next(one for one in reversed(self._entries) if one.call is call).end = len(self._entries)

    def steps(self) -> tuple[Step, ...]:
        """The calls of a period, which begins after the last one that counts is over: what has come after that in the
        period that was written down comes first."""
        if self._steps is None:
            last = max(at for at, one in enumerate(self._entries) if one.call is not None and not one.level)
            split = self._entries[last].end
            moved = len(self._entries) - split
            first = [_step(one, one.end - split) for one in self._entries[split:]]
            self._steps = (*first, *(_step(one, one.end + moved) for one in self._entries[:split]))
        return self._steps


def _step(entry: _Entry, end: int) -> Step:
    call = entry.call
    if call is None:
        return Step(entry.listener, 0, None, 0, entry.level, None, end, None, None, entry.listener.keeps)
    depth, code, instruction = call.frames[0] if call.frames and not entry.level else (NEARER, None, 0)
    stays: Callable[[], bool] | None = partial(call.again.stays, call.known) if call.again.guards else None
    return Step(
        entry.listener, depth - NEARER, code, instruction, entry.level, entry.thing, end, call, stays, False
    )  # fmt: skip
