"""A program and its runs, each played when it is first asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain
from pathlib import PurePath

from amplint.budget import Budget
from amplint.flow import program as ir
from amplint.flow.breaches import Trace, comes_to
from amplint.flow.choices import all_runs
from amplint.lower.passing_on import passing_on
from amplint.machine.entry_points import Entry, entries, play
from amplint.protocol.defaults import NOTHING, Defaults
from amplint.protocol.events import Kind, Site
from amplint.state.counting import names_window
from amplint.state.model import Again, Model
from amplint.state.run import Run
from amplint.state.values import Origin, last_part

Choices = Mapping[str, bool]

MAX_RESTARTS = 12
MOST_SETTLED = 3
"""Runs from one entry that differ in what has no default, and are played for what has one."""

MOST_DOUBTED = 24
"""Runs from one entry that are played after all others, because they may refute what those show."""


BRIEF = 4
"""How many times fewer runs are played from an entry that others came to."""


@dataclass
class _Runs:
    """The runs from an entry, the model that they are played on, the choices that were tried after them, how many
    statements all of them took, and what happened in those that were asked about."""

    model: Model
    runs: list[Run] = field(default_factory=list)
    complete: bool = False
    cost: int = 0
    tried: list[dict[str, bool]] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)


class Played:
    """A program and the runs from each of its entries, each played when it is first asked for.

    `tail`: how many batches are left over of an epoch. `patience`: how many times as many runs as usual may be tried.
    `ones`: windows that have a single micro-step. `budget`: what other runs of the same file have spent of. `along`:
    the same program on another model; what was decided in its runs is decided here, and nothing else is tried.
    `defaults`: of the options of the program: what it does under these is always played. `brief`: the entries from
    which fewer runs are played, since others came there.
    """

    def __init__(
        self,
        program: ir.Program,
        tail: int = 1,
        patience: int = 1,
        ones: frozenset[str] = frozenset(),
        budget: Budget | None = None,
        along: Played | None = None,
        defaults: Defaults = NOTHING,
    ) -> None:
        self.defaults: Defaults = defaults if along is None else along.defaults
        self.along = along
        self.program, self.tail, self.patience, self.ones = program, tail, patience, ones
        self.budget = Budget() if budget is None else budget
        self.entries = tuple(entries(program))
        self._through = passing_on(program)
        self._runs: dict[int, _Runs] = {}
        self._asked: set[int] = set()
        self.brief: set[int] = set()

    @property
    def is_a_test(self) -> bool:
        """Whether the file is one of tests, as pytest collects them: no training depends on what it does."""
        name = PurePath(self.program.path).name
        names = (entry.function.name for entry in self.entries if entry.function is not None)
        return (name.startswith("test_") or name.endswith("_test.py")) and any(one.startswith("test_") for one in names)

    def anew(self, tail: int = 1, patience: int = 1) -> Played:
        """The same program, of which nothing has been played."""
        return Played(self.program, tail, patience, defaults=self.defaults)

    def begin(self) -> None:
        """A file is looked at from the beginning: what was played before is there, and counts all the same."""
        self.budget, self._asked = Budget(), set()

    def runs(self, at: int) -> tuple[list[Run], bool]:
        """The runs from an entry, and whether they are all."""
        found = self._found(at)
        return found.runs, found.complete

    def known(self, at: int) -> list[Run]:
        """The runs from an entry that were played already."""
        return self._runs[at].runs if at in self._runs else []

    def traces(self, at: int) -> list[Trace]:
        """What happened in the runs from an entry."""
        found = self._found(at)
        found.traces += [self._trace(at, run) for run in found.runs[len(found.traces) :]]
        return list(found.traces)

    def windows(self, among: Iterable[str]) -> frozenset[str]:
        """Those names that stand for the length of a window, by themselves or by what runs did with them."""
        met = {last_part(text) for found in self._runs.values() for text in found.model.windows}
        return frozenset(name for name in among if name in met or names_window(name))

    def shortened(self, at: int) -> frozenset[str]:
        """The windows of a single micro-step that runs have met: those from an entry, if any did."""
        every = {one: found.model.shortened for one, found in self._runs.items()}
        return frozenset(every.get(at) or chain.from_iterable(every.values()))

    def comes_to(self, at: int, site: Site) -> bool:
        """Whether it is known what happens at a place: all runs were played, or one comes there and trains."""
        found = self._runs.get(at)
        if found is None or found.complete:
            return True
        return any(trace.steps and comes_to(site, trace.events) for trace in self.traces(at))

    def trains_nothing(self) -> bool:
        """Whether nothing is back-propagated and nothing steps, wherever one begins."""
        runs = (run for at in range(len(self.entries)) for run in self.runs(at)[0])
        return not any(run.passed[0] or run.passed[1] for run in runs)

    def under(self, at: int, choices: Choices) -> Trace | None:
        """What happens from an entry where these choices are made; None where that teaches the model something new."""
        found = self._found(at)
        run = next((one for one in found.runs if one.choices == choices), None)
        try:
            return self._trace(at, run or play(self.program, self.entries[at], found.model, dict(choices)))
        except Again:
            return None

    def try_otherwise(self, at: int, every: Iterable[Choices]) -> bool:
        """Whether runs with such choices were not played yet, and are now; where all runs were played, none is."""
        return not self._found(at).complete and self.try_also(at, every)

    def try_also(self, at: int, every: Iterable[Choices]) -> bool:
        """Whether runs with such choices were not played yet, and are now."""
        found = self._found(at)
        fresh = [dict(choices) for choices in every if dict(choices) not in found.tried]
        fresh = fresh[: MOST_DOUBTED - len(found.tried)]
        found.tried += fresh
        for choices in fresh:
            one = self._played(at, found.model.copied(), choices)
            found.runs += one.runs
            found.cost += one.cost
            self.budget.spent += one.cost
        return bool(fresh)

    def _found(self, at: int) -> _Runs:
        if at not in self._runs:
            new = Model(tail=self.tail, ones=self.ones, defaults=self.defaults)
            self._runs[at] = self._played(at, new)
        found = self._runs[at]
        self.budget.spent += 0 if at in self._asked else found.cost
        self._asked.add(at)
        return found

    def _played(self, at: int, model: Model, choices: Choices | None = None) -> _Runs:
        """All runs from an entry, or the one with some choices, on a model that does not change any more."""
        idle = Counter[str]()
        costs: list[int] = []

        def one(forced: dict[str, bool], beside: Run | None = None) -> Run:
            run = play(self.program, self.entries[at], model, forced, () if beside is None else beside.events)
            costs.append(run.cost)
            return run

        for _ in range(MAX_RESTARTS):
            try:
                if choices is not None:
                    made = [one({**choices})], False
                elif known := self.along.known(at) if self.along is not None else []:
                    made = self._different([one(run.choices) for run in known]), self._along_is_complete(at)
                else:
                    patience = self.patience / BRIEF if at in self.brief else self.patience
                    runs, complete = all_runs(one, idle=idle, patience=patience)
                    made = [*runs, *self._by_default(one, runs)], complete
                return _Runs(model, *made, cost=sum(costs))
            except Again:
                continue
        return _Runs(model, cost=sum(costs))

    def _along_is_complete(self, at: int) -> bool:
        return self.along is not None and self.along.runs(at)[1]

    def _by_default(self, one: Callable[[dict[str, bool]], Run], runs: Sequence[Run]) -> Iterator[Run]:
        """The runs of the program under its own defaults that are none of some runs, though these are like them but for
        what has a default."""
        settled = [run for run in runs if self._is_settled(run)]
        for run in runs:
            wanted = {**run.choices, **self.defaults.of(run.choices)}
            if self.defaults.of(run.choices) and not any(_agree(wanted, known) for known in settled):
                settled.append(found := self._settled(one, wanted))
                yield found
            if len(settled) >= MOST_SETTLED:
                return

    def _settled(self, one: Callable[[dict[str, bool]], Run], wanted: dict[str, bool]) -> Run:
        """A run with some choices, in which what else has a default comes out by that."""
        run = one(wanted)
        for _ in range(MOST_SETTLED):
            if self._is_settled(run):
                break
            run = one(wanted := {**wanted, **self.defaults.of(run.choices)})
        return run

    def _is_settled(self, run: Run) -> bool:
        return all(run.choices[key] is value for key, value in self.defaults.of(run.choices).items())

    def _different(self, runs: Iterable[Run]) -> list[Run]:
        """Runs without those in which only that happened which has happened in an earlier one, under the program's
        defaults or under other settings as well."""
        first: dict[Hashable, Run] = {}
        for run in runs:
            first.setdefault((run.happened, self._is_settled(run)), run)
        return list(first.values())

    def _trace(self, at: int, run: Run) -> Trace:
        return _trace(run, self.entries[at], self.defaults.of(run.choices))

    def leaves_out(self, at: int) -> bool:
        """Whether an entry is left out, since what the runs of its file may take together is spent."""
        exceeded = self.budget.exceeded
        if exceeded and self.entries[at] not in self.budget.left:
            self.budget.left.append(self.entries[at])
        return exceeded

    def in_turn(self, executed: Set[int], settled: Set[int]) -> Iterator[tuple[int, bool]]:
        """The entries that are looked at, and whether others came there: in the end, as long as there is time, those
        from which not all was seen.

        `executed`: the functions that runs have come to; `settled`: from entries that have no more runs. Both grow.
        """
        later = []
        for at in range(len(self.entries)):
            if self.has_run(at, executed):
                later.append(at)
            elif not self.leaves_out(at):
                yield at, False
        for at in later:
            if not (self.has_run(at, settled) or self.budget.exceeded):
                self.brief.add(at)
                yield at, True

    def has_run(self, at: int, executed: Set[int]) -> bool:
        """Whether all that an entry does was done in other runs, by the functions that they executed."""
        if self.entries[at].own:
            return all(id(function) in executed for function in self.entries[at].own)
        start = id(self.entries[at].function)
        through = self._through.get(start)
        return start in executed or (through is not None and through <= executed)

    def ones_at(self, at: int, handed: Mapping[int, str]) -> tuple[str, ...]:
        """The windows of 1 that were handed to the functions with which an entry begins, of those known by identity."""
        begun = self.entries[at].own or (self.entries[at].function,)
        return tuple(dict.fromkeys(handed[id(one)] for one in begun if id(one) in handed))


def _agree(wanted: Choices, run: Run) -> bool:
    """Whether a run answers all that it is asked as is wanted."""
    return all(wanted.get(key, value) is value for key, value in run.choices.items())


def side_by_side(before: Played, after: Played) -> list[tuple[Trace, Trace]] | None:
    """Every run of a program with the one of another state of it that makes the same choices; None where they do not
    begin at the same places, or where there is no such run."""
    if list(map(_begins, before.entries)) != list(map(_begins, after.entries)):
        return None
    pairs: list[tuple[Trace, Trace]] = []
    executed: set[int] = set()
    for at in range(len(before.entries)):
        if before.has_run(at, executed):
            continue
        runs = before.runs(at)[0]
        executed |= {function for run in runs for function in run.executed}
        chosen = [run.choices for run in (*runs, *after.runs(at)[0])]
        for choices in [one for number, one in enumerate(chosen) if one not in chosen[:number]]:
            one, other = before.under(at, choices), after.under(at, choices)
            if one is None or other is None:
                return None
            pairs.append((one, other))
    return pairs


def _begins(entry: Entry) -> tuple[str | None, ...]:
    return entry.function.name if entry.function is not None else None, entry.klass, entry.heir


def _trace(run: Run, entry: Entry, defaults: Choices) -> Trace:
    def chosen(origin: Origin) -> frozenset[str]:
        return frozenset(decision.key for decision in run.decisions.values() if decision.origin is origin)

    cut = run.left or not run.events or run.events[-1].kind is not Kind.END
    return Trace(
        run.events,
        run.choices,
        chosen(Origin.OPAQUE),
        chosen(Origin.DATA),
        not (entry.complete or run.whole),
        cut,
        frozenset(run.idle),
        defaults,
    )
