"""Which assignments of run constants a program is run under.

A run decides each condition over symbols once, when it first meets it. The runs of a program form a tree; it is
visited breadth first, so that runs that differ from the first one in few decisions come first, and up to a limit.
A decision that changed nothing of what happened is not combined with others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar

MAX_RUNS = 96
MAX_COST = 80_000
"""Statements that all runs from one entry may take together."""


class Decided(Protocol):
    """A run, as far as choosing the next one needs to know it."""

    @property
    def choices(self) -> dict[str, bool]:
        """What was decided, in the order in which it was first asked."""

    @property
    def happened(self) -> Hashable:
        """All that happened, equal for runs in which the same happened."""

    @property
    def cost(self) -> int:
        """How many statements the run took."""


R = TypeVar("R", bound=Decided)


def all_runs(play: Callable[[dict[str, bool]], R], limit: int = MAX_RUNS) -> tuple[list[R], bool]:
    """One run per assignment, and whether that was all of them."""
    runs: list[R] = []
    seen: set[Hashable] = set()
    waiting: deque[dict[str, bool]] = deque([{}])
    played = cost = 0
    while waiting and played < limit and cost < MAX_COST:
        forced = waiting.popleft()
        run = play(forced)
        played, cost = played + 1, cost + run.cost
        if run.happened in seen:
            continue
        seen.add(run.happened)
        runs.append(run)
        path: dict[str, bool] = {}
        for key, value in run.choices.items():
            if key not in forced:
                waiting.append({**path, key: not value})
            path[key] = value
    return runs, not waiting
