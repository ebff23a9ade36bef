"""What is true after many periods that are like the two before, without going through them.

A loop that does the same again and again changes its state by the same: counts grow by as much in every period, and
everything else is what it was. Where that has been seen in two periods one after the other, the state after any number
of them follows. What changes in another way is `Uneven`, and has to be gone through.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, is_dataclass, replace
from typing import Any

from amplint.protocol.state import State
from amplint.protocol.values import with_changes
from amplint.protocol.window import KEPT
from runtime_guard.tally import Tally
from runtime_guard.timeline import Timelines

Known = tuple[dict[str, Any], tuple[Any, ...], dict[str, Any]]


class Uneven(Exception):
    """Something does not change by the same from one period to the next."""


def known(state: State, tally: Tally, timelines: Timelines) -> Known:
    """What is true now, in a form that later events do not change."""
    kept = {name: dict(getattr(state, name)) for name in _OF_STATE}
    counts = tuple(Counter(one) if isinstance(one := getattr(tally, name), Counter) else one for name in _OF_TALLY)
    return kept, counts, timelines.marks()


_OF_STATE = (
    "ledgers", "cadences", "totals", "last", "scalers", "records", "drives", "made", "places", "succeeded",
)  # fmt: skip
_OF_TALLY = (
    "events", "windows", "lengths", "weights", "clips", "unscales", "steps", "followed", "unfollowed", "passes", "used",
    "erased", "pending", "since", "most",
)  # fmt: skip


def state_after(state: State, steps: tuple[Known, Known, Known], times: int) -> State:
    """A state of its own: so many periods after the last of three steps. Raises Uneven."""
    (first, *_), (second, *_), (third, *_) = steps
    return replace(state, **{name: further(first[name], second[name], third[name], times) for name in _OF_STATE})


def count_on(tally: Tally, timelines: Timelines, steps: tuple[Known, Known, Known], times: int) -> None:
    """Counts so many periods after the last of three steps. Raises Uneven before anything is changed."""
    counts = further(steps[0][1], steps[1][1], steps[2][1], times)
    marks = further(steps[0][2], steps[1][2], steps[2][2], times)
    if any(mark[1:] != steps[2][2][name][1:] for name, mark in marks.items()):
        raise Uneven
    for name, value in zip(_OF_TALLY, counts, strict=True):
        setattr(tally, name, value)
    timelines.number(marks)


def further(first: Any, second: Any, third: Any, times: int) -> Any:
    """What follows so many steps after three values that follow each other. Raises Uneven.

    A tuple that grows is that of the lengths of windows, of which `KEPT` are remembered.
    """
    kind = type(third)
    if third is second is first or (kind is type(second) is type(first) and first == second == third):
        return third
    if not kind is type(second) is type(first):
        raise Uneven
    if kind is int and second - first == third - second:
        return third + times * (third - second)
    if kind is tuple and len(first) == len(second) == len(third):
        return tuple(further(*parts, times) for parts in zip(first, second, third, strict=True))
    if kind is tuple:
        return _longer(first, second, third, times)
    if issubclass(kind, dict) and first.keys() == second.keys() == third.keys():
        return kind({name: further(first[name], second[name], value, times) for name, value in third.items()})
    if is_dataclass(kind):
        parts = {one.name: (getattr(first, one.name), getattr(second, one.name)) for one in fields(kind)}
        changes = {name: further(*pair, getattr(third, name), times) for name, pair in parts.items()}
        return with_changes(third, **changes)
    raise Uneven


def _longer(first: Any, second: Any, third: Any, times: int) -> Any:
    added = third[len(second) :]
    if second[: len(first)] != first or third[: len(second)] != second or second[len(first) :] != added:
        raise Uneven
    return (third + added * min(times, KEPT))[:KEPT]
