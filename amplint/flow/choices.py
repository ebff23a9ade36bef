"""Which assignments of run constants a program is run under.

A run decides each condition over symbols once, when it first meets it. The runs of a program form a tree; it is
visited breadth first, so that runs that differ from the first one in few decisions come first, and up to a limit.
A decision that changed nothing of what happened is not combined with others.

Most decisions change nothing, wherever they are taken, so they are tried several at once: if nothing changes when all
of them are taken the other way, each has been tried; if something does, halves of them are tried. One that most likely
changes something, by what happened where it was taken or by another run, is tried alone. A decision that has changed
nothing once is *idle*: of the runs that follow, all idle decisions are tried together, after everything else; and those
that have changed nothing in several runs not any more. As long as no run has come to a step, the latest decisions are
tried first: one of those kept it from that.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Set
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

MAX_RUNS = 96
MAX_COST = 80_000
"""Statements that all runs from one entry may take together."""

MAX_STRIDE = 16
"""Decisions of which nothing is known that are tried at once."""

ENOUGH = 3
"""In so many runs a decision has to change nothing."""


class Decided(Protocol):
    """A run, as far as choosing the next one needs to know it."""

    @property
    def choices(self) -> dict[str, bool]:
        """What was decided, in the order in which it was first asked."""

    @property
    def turned(self) -> Set[str]:
        """The decisions that were taken otherwise than where nobody says how."""

    @property
    def telling(self) -> Set[str]:
        """The decisions of which it is likely, by this run alone, that they change something."""

    @property
    def happened(self) -> Hashable:
        """All that happened, equal for runs in which the same happened."""

    @property
    def barren(self) -> bool:
        """Whether the run ended before any training: then no decision of it has shown that it changes nothing."""

    @property
    def elsewhere(self) -> bool:
        """Whether the run trained as far as it is known, by somebody who is not seen: then it is barren, too."""

    @property
    def stepless(self) -> bool:
        """Whether the run trained, as far as it got, and no optimizer stepped in it."""

    @property
    def cost(self) -> int:
        """How many statements the run took."""


R = TypeVar("R", bound=Decided)

Answer = tuple[str, bool, bool]
"""A decision, how it was taken, and how it is where nobody says."""


def all_runs(
    play: Callable[[dict[str, bool], R | None], R],
    limit: int = MAX_RUNS,
    idle: Counter[str] | None = None,
    patience: float = 1,
) -> tuple[list[R], bool]:
    """One run per assignment, and whether that was all of them. `idle` is known from before, and learns.

    `play`: it is told the choices and perhaps a run beside which this one is: it may end as soon as something else has
    happened than in that one. `patience`: how many times as much as usual may be tried.
    """
    search = _Search(play, Counter() if idle is None else idle)
    complete = search.finish(int(limit * patience), int(MAX_COST * patience))
    return search.runs, complete


@dataclass
class _Search(Generic[R]):
    """The runs in which different things happened, and the decisions of them that are still to be taken otherwise.

    `now`: decisions of a run that are tried together, the last ones first; `waiting`: those of which nothing is known;
    `doubted`: idle ones. `telling`: those that have changed something. `asked`: decisions that came up in runs in which
    nothing else happened. `trains`: those without which a run was over before any training; what was tried in such runs
    is tried again where one trains. `rest`: the half of decisions that changes something if the other half does not.
    `every`: what was played, with what it asked: a run that would be answered the same is not played again.
    """

    play: Callable[[dict[str, bool], R | None], R]
    idle: Counter[str]
    runs: list[R] = field(default_factory=list)
    seen: set[Hashable] = field(default_factory=set)
    now: list[tuple[R, list[str]]] = field(default_factory=list)
    waiting: deque[tuple[R, list[str]]] = field(default_factory=deque)
    doubted: deque[tuple[R, list[str]]] = field(default_factory=deque)
    telling: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    trains: dict[str, bool] = field(default_factory=dict)
    stride: int = 1
    rest: list[str] = field(default_factory=list)
    every: list[tuple[R, list[Answer]]] = field(default_factory=list)
    played: int = 0
    cost: int = 0

    def finish(self, limit: int, most: int) -> bool:
        """Whether everything has been tried, within the limits."""
        self._keep(self._played({}), frozenset())
        while self.now or self.waiting or self.doubted:
            if self.played >= limit or self.cost >= most:
                return False
            if self.now:
                self._try(*self.now.pop())
            elif self.waiting:
                self._plan(*self._next())
            else:
                run, keys = self.doubted.popleft()
                self._add(run, [key for key in keys if self.idle[key] < ENOUGH])
        return True

    def _played(self, forced: dict[str, bool], beside: R | None = None) -> R:
        self.played += 1
        known = next((run for run, asked in self.every if _leads_to(forced, asked)), None)
        if known is not None:
            return known
        run = self.play(forced, beside)
        self.cost += run.cost
        if beside is None or run.happened == beside.happened:  # else it may have ended before its time
            turned = run.turned
            self.every.append((run, [(key, value, value is not (key in turned)) for key, value in run.choices.items()]))
        return run

    def _keep(self, run: R, known: Set[str]) -> None:
        """Keeps a run if nobody has seen what happened in it: then its own decisions have to be tried too, but those of
        which it is known what they do."""
        if run.happened not in self.seen:
            self.seen.add(run.happened)
            self.runs.append(run)
            self.waiting.append((run, [key for key in run.choices if key not in known]))

    def _add(self, run: R, keys: list[str]) -> None:
        if keys:
            self.now.append((run, keys))

    def _again(self, run: R, keys: list[str]) -> None:
        """Leaves decisions of a run to be tried with those that were to be tried next, in the order of the run."""
        if keys:
            later = self.waiting.popleft()[1] if self.waiting and self.waiting[0][0] is run else []
            left = {*keys, *later}
            self.waiting.appendleft((run, [key for key in run.choices if key in left]))

    def _next(self) -> tuple[R, list[str]]:
        """The decisions that are planned next: first those of runs that train, once there are such."""
        training = (at for at, (run, _) in enumerate(self.waiting) if not run.barren)
        self.waiting.rotate(-next(training, 0))
        return self.waiting.popleft()

    def _plan(self, run: R, keys: list[str]) -> None:
        """Takes the next decisions that are not idle: the more, the longer nothing has changed."""
        known = [key for key in keys if self.idle[key]]
        fresh = [key for key in keys if not self.idle[key]]
        if known:
            self.doubted.append((run, known))
        if fresh:
            late = all(one.stepless for one in self.runs)
            tried = self._together(run, fresh[::-1] if late else fresh)
            self.now.append((run, [key for key in fresh if key in tried]))
            self.waiting.appendleft((run, [key for key in fresh if key not in tried]))

    def _together(self, run: R, keys: list[str]) -> list[str]:
        """Those of some decisions that are tried next: the first that most likely changes something, else several."""
        likely = [key for key in keys if key in run.telling or key in self.telling]
        return likely[:1] or keys[: self.stride]

    def _ask(self, run: R, keys: list[str]) -> None:
        """Tries what only this run asks, the next of several options for one, although nothing else happened in it:
        after the decisions of the run that is looked at, before those of others."""
        fresh = [key for key in keys if key not in self.asked]
        self.asked.update(fresh)
        if fresh:
            self.waiting.insert(1, (run, fresh))

    def _try(self, run: R, keys: list[str]) -> None:
        """Takes decisions of a run the other way together; when something else happens, halves of them."""
        forced = {**self.trains, **_otherwise(run.choices, keys)}
        found = self._played(forced, run if len(keys) > 1 else None)  # one of several shows no more than that
        if found.happened == run.happened:
            further = [key for key in found.choices if key not in run.choices]
            if not run.barren and not further:  # what leads to further decisions changes something, if these do
                self.idle.update(found.choices.keys() & set(keys))
            self.stride = min(2 * self.stride, MAX_STRIDE)
            self._again(run, [key for key in keys if key not in found.choices])  # not asked any more: not tried either
            self._ask(found, further)
            if self.now and self.now[-1][1] is self.rest and len(self.rest) > 1:
                self._halve(*self.now.pop())  # it was not the other half that changed something
            return
        self.rest = []
        if len(keys) == 1:
            self.stride = self.stride if keys[0] in run.telling | self.telling else 1
            self.telling.add(keys[0])
            del self.idle[keys[0]]
            if run.barren and not (run.elsewhere if found.elsewhere else found.barren):
                known = {*self.trains, keys[0]}
                self.trains |= {key: value for key, value in found.choices.items() if key in found.turned}
                self._keep(found, known)
            else:
                self._keep(found, forced.keys())
        else:
            self._halve(run, keys)

    def _halve(self, run: R, keys: list[str]) -> None:
        """Tries the halves of decisions of which one changes something."""
        half = len(keys) // 2
        self.rest = keys[half:]
        self.now += [(run, self.rest), (run, keys[:half])]


def _leads_to(forced: dict[str, bool], asked: list[Answer]) -> bool:
    """Whether all that a run asked would be answered as it was."""
    return all(forced.get(key, default) is value for key, value, default in asked)


def _otherwise(choices: dict[str, bool], keys: list[str]) -> dict[str, bool]:
    """The choices up to the last of some keys, with those of the keys the other way."""
    path = list(choices)[: list(choices).index(keys[-1]) + 1]
    return {key: choices[key] is not (key in keys) for key in path}
