"""What some ranks do and others do not, though all of them train: it shows beside the run of another rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from amplint.catalogue.rule import Contrast, Course
from amplint.protocol.cadence import BY_HAND
from amplint.protocol.events import STEPS, Event, Kind, Site
from amplint.protocol.single_ranks import SOME_RANKS, asks_rank

_MOVES = frozenset({Kind.SCHEDULER_STEP, Kind.SCHEDULER_TOLD})


def done_by_some(runs: Sequence[Course]) -> Iterator[Contrast]:
    """The first step of each schedule that only some ranks move, though every rank steps its optimizer.

    Another run shows it that differs in the rank alone, in which the schedule is there and does not move. One that
    nobody has seen being made may be a schedule of something else.
    """
    every = [_Run(run) for run in runs]
    for at, one in enumerate(every):
        for name, step in one.guarded.items():
            if any(other.shows(name, one) for other in every):
                yield Contrast(at, step, mild=isinstance(name.name, str), words=_words(step))


def _words(step: Event) -> dict[str, str]:
    what = f"`{step.detail[SOME_RANKS]}` lets some of them alone step the scheduler, though all step the optimizer"
    return {"what": what, "remedy": "step the scheduler on every rank, with the same metric if it is told one"}


@dataclass(frozen=True)
class _Scheduled:
    """A schedule by the place where it was made, or by its name if nobody has seen that; where its optimizer steps."""

    name: Site | str
    steps: frozenset[Site]


class _Run:
    """What a run does with schedules. `guarded`: those that it moves under a condition of ranks alone, by where they
    were made, with the first such step."""

    def __init__(self, run: Course) -> None:
        self.choices = run.choices
        made = {event.scheduler: event for event in run.events if event.kind is Kind.CREATE and event.scheduler}
        moved: dict[str | None, list[Event]] = {}
        for event in run.events:
            if event.kind in _MOVES:
                moved.setdefault(event.scheduler, []).append(event)
        some = {name: steps[0] for name, steps in moved.items() if name and _all_guarded(steps)}
        steps = [event for event in run.events if event.kind in STEPS]
        self.guarded: dict[_Scheduled, Event] = {}
        for name, step in some.items():
            optimizer = made[name].optimizer if name in made else None
            own = [one for one in steps if optimizer in (None, one.optimizer)]
            if own and not any(SOME_RANKS in one.detail for one in own):
                place = made[name].site if name in made else name
                self.guarded[_Scheduled(place, frozenset(one.site for one in own))] = step
        self.moved = {made[name].site if name in made else name for name in moved}
        self.made = {event.site for event in made.values()}
        self.steps = {event.site for event in steps}
        self.unseen = {event.step_of_program for event in run.events if event.kind is Kind.OPAQUE}
        self.by_hand = any(BY_HAND in event.detail for event in run.events)

    def shows(self, schedule: _Scheduled, one: _Run) -> bool:
        """Whether it is the run of another rank than a given one, and a schedule that is moved there stands still."""
        alike = self.unseen <= one.unseen and not self.by_hand  # what is not seen happens on both ranks
        if not alike or not schedule.steps <= self.steps or self.moved & {schedule.name, None}:
            return False
        there = isinstance(schedule.name, str) or schedule.name in self.made
        return there and self._differs_in_rank(one)

    def _differs_in_rank(self, one: _Run) -> bool:
        both = self.choices.keys() & one.choices.keys()
        differing = {key for key in both if self.choices[key] is not one.choices[key]}
        return bool(differing) and all(map(asks_rank, differing))


def _all_guarded(steps: Sequence[Event]) -> bool:
    return all(SOME_RANKS in step.detail for step in steps)
