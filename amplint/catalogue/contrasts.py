"""Questions about several runs of one program: what happens under some settings, and not under others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from amplint.catalogue.rule import Contrast, Course
from amplint.protocol.cadence import BY_HAND, CONSTANT
from amplint.protocol.events import KEPT, STEPS, Event, Kind, Site

_MOVES = frozenset({Kind.SCHEDULER_STEP, Kind.SCHEDULER_TOLD})


@dataclass(frozen=True)
class _Training:
    """What a run does with the learning rate of one optimizer.

    `made`: the last scheduler that is made for it. `moved`: some scheduler of it moves. `steps`: where the optimizer
    steps, and how; `loops`: over which batches. `choices`: how the conditions of the run were decided.
    """

    run: int
    made: Event
    moved: bool
    steps: frozenset[tuple[Site, Kind]]
    loops: frozenset[Site]
    choices: Mapping[str, bool]

    def shows(self, other: _Training) -> bool:
        """Whether it is a branch of the same loop in which the other one moves what this one does not."""
        sites, others = ({site for site, _ in one.steps} for one in (self, other))
        alike = other.made.site == self.made.site and not self.loops.isdisjoint(other.loops)
        return alike and other.moved and not self.moved and sites.isdisjoint(others) and self.differs_once(other)

    def differs_once(self, other: _Training) -> bool:
        """Whether no more than one condition was decided otherwise: with two, the second may be a setting that stills
        the scheduler."""
        both = self.choices.keys() & other.choices.keys()
        return sum(self.choices[key] is not other.choices[key] for key in both) <= 1

    def steps_alike(self, other: _Training) -> bool:
        """Whether both step through a scaler, or neither."""
        return {kind for _, kind in self.steps} == {kind for _, kind in other.steps}


def idle_in_a_branch(runs: Sequence[Course]) -> Iterator[Contrast]:
    """The scheduler of a run in which the optimizer steps in another branch than in a run where the scheduler moves.

    One that does not move though the optimizer steps at the same place has been switched off by a setting. Without a
    scaler a schedule is the same; two ways to step may be meant to differ in it.
    """
    found = [training for at, run in enumerate(runs) for training in _trainings(at, run)]
    for one in found:
        others = [other for other in found if one.shows(other)]
        if others:
            yield Contrast(one.run, one.made, mild=all(map(one.steps_alike, others)))


def _trainings(at: int, course: Course) -> Iterator[_Training]:
    """The optimizers of a run that step, and for which a scheduler is made; none of a run that is not understood."""
    run = [event for event in course.events if BY_HAND not in event.detail]
    made = {event.optimizer: event for event in run if event.kind is Kind.CREATE and event.scheduler is not None}
    if not made or any(event.kind is Kind.OPAQUE for event in run):
        return
    loops = frozenset(event.site for event in run if event.kind is Kind.EPOCH_END)
    for optimizer, event in made.items():
        steps = frozenset((one.site, one.kind) for one in run if one.kind in STEPS and one.optimizer == optimizer)
        moved = any(one.kind in _MOVES and one.optimizer in (None, optimizer) for one in run)
        if steps:
            yield _Training(at, event, moved, steps, loops, course.choices)


def still_in_every_run(runs: Sequence[Course]) -> Iterator[Contrast]:
    """The schedulers that no run moves, though it trains their optimizer in a loop: each is made, and only code that is
    seen has it in any run."""
    moving = {site for run in runs for site in _not_still(run)}
    for at, run in enumerate(runs):
        for event in _made(run):
            if event.site not in moving and _trains(run, event):
                yield Contrast(at, event)


def _made(run: Course) -> list[Event]:
    """Where a run makes a scheduler."""
    return [event for event in run.events if event.kind is Kind.CREATE and event.scheduler is not None]


def _not_still(run: Course) -> Iterator[Site]:
    """Where the schedulers of a run are made that it moves, or that what is not seen may move, or whose rate is to stay
    as it is; or in whose place another one moves."""
    ends = [event.detail.get(KEPT, "").split() for event in run.events if event.kind is Kind.END]
    moved = {event.optimizer for event in run.events if event.kind in _MOVES}
    for event in _made(run):
        away = any(event.scheduler not in kept for kept in ends)
        if away or CONSTANT in event.detail or not moved.isdisjoint({event.optimizer, None}):
            yield event.site


def _trains(run: Course, made: Event) -> bool:
    """Whether a run that is over has gone back, and stepped the optimizer of a scheduler again and again."""
    steps = [event for event in run.events if event.kind in STEPS and event.optimizer == made.optimizer]
    kinds = {event.kind for event in run.events}
    return len(steps) > 1 and {Kind.BACKWARD, Kind.END} <= kinds
