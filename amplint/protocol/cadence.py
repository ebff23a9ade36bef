"""How often a scheduler steps, compared with the optimizer's steps, the micro-steps and the epochs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amplint.protocol.events import STEPS, Event, Kind, Site
from amplint.protocol.values import with_changes

MICRO_BATCHES, UPDATES, EPOCHS = UNITS = ("micro-batches", "updates", "epochs")
CONSTANT = "constant"
"""Of a schedule: its rate never moves."""
HOLDS = "first value holds"
"""In the detail of a schedule's creation: for more than one step."""
AMISS = "amiss"
"""In the detail of a schedule's creation: how its horizon is wrong though it is of the right unit."""
SHARED_AGAIN = "a rank's share, divided by the ranks"
SHARED_LATER = "a loader, before its ranks share it"
OF_ALL_RANKS = "what all ranks have together"
WHOLE_ONLY = "whole batches only"
SHARED = "of one rank"
"""In the same detail: its horizon counts what a rank has alone."""
PER_PROCESS = "updates, of which each makes a step for each process"
EACH_AGAIN = "the updates of all ranks, once more for each process"
WARM_UP = "the warm-up counts"
"""In the same detail: the unit of the number of steps for which it warms up."""
PAST = "past its end"
COMPLEX = "complex"
"""In the same detail: what a rate becomes past the schedule's end, where a negative number is raised to a fraction."""
BY_HAND = "by hand"
"""In the same detail: the program goes through the schedule by itself, as it sets the rate."""
REPEATED = "a step for each process"
"""In the same detail: what steps it does so as many times as there are processes."""
ALONE = "without the processes"
"""In the same detail: its horizon counts micro-batches, as if there were no such steps."""
MOVES_BY = "moves_by"
"""In the detail of a step: by how many positions it moves the schedule on; `unit`, what that of its end counts."""
SEVERAL = "several steps per epoch"
"""In the detail of a schedule's creation: it is told that an epoch has so many steps, in a number."""
METRIC = "a metric"
"""In the detail of a step that is told something: the class of a schedule of torch's that is told a metric, and wants
none."""
MISSIZED = "missized"
"""In the detail of a schedule's creation: how the number of epochs, or of samples, entered its horizon."""
EPOCHS_AGAIN = "all epochs, once more for each"
OVER_EPOCHS = "an epoch, divided by the epochs"
OF_SAMPLES = "the samples of all epochs"
NO_CHANCE = 16
"""Smaller numbers agree by chance: a run of three updates may stop anywhere in a schedule of six."""


@dataclass(frozen=True)
class Cadence:
    """The facts about one scheduler.

    `cadence_steps`: its own steps. `updates`: optimizer steps in all. `idle`: backward passes since its last step if
    the optimizer has not stepped since, else 0. `lead`: its steps before the first optimizer step, if
    it is not of a class that may set an absolute position. `pending`: it
    stepped after the last backward and before the optimizer did. `unit`: what its horizon counts (one of `UNITS`),
    None when not known; `exact`: that is certain. `horizon`: after how many of its own steps the schedule is over, None
    when not known. `first`: where it stepped first.
    `told`: how often it was told a position or a metric. `passed`: micro-batches, updates and epochs in all; `since`:
    the same since it stepped last, None when code that was not followed may have added some. `pace`: the units of
    which exactly one has passed between any two of its steps, None before the second one, none of them where a step
    depends on the batch.
    `schedule`: the name of its class. `meant`: `epochs` or `batches`, if its arguments say once per what it is to be
    stepped. `twice`: it has stepped again for the present update; `doubled`: for how many of the latest, in a row.
    """

    cadence_steps: int = 0
    updates: int = 0
    idle: int = 0
    stepped_since: bool = False
    lead: int = 0
    pending: bool = False
    filling: bool = False
    unit: str | None = None
    exact: bool = False
    horizon: int | None = None
    first: tuple[Site, ...] = ()
    told: int = 0
    passed: tuple[int, int, int] = (0, 0, 0)
    since: tuple[int, int, int] | None = (0, 0, 0)
    pace: frozenset[str] | None = None
    schedule: str | None = None
    meant: str | None = None
    twice: bool = False
    doubled: int = 0


def advance_cadence(before: Cadence, event: Event) -> Cadence:
    """The cadence after one event of this scheduler or of the optimizer that it drives."""
    if event.kind is Kind.SCHEDULER_STEP:
        return with_changes(
            before,
            cadence_steps=before.cadence_steps + 1,
            first=before.first or event.step_of_program,
            idle=0,
            stepped_since=False,
            lead=before.lead + (before.updates == 0 and "unread" not in event.detail),
            pending=before.filling,
            pace=_pace(before, event),
            since=(0, 0, 0),
            **_again(before),
        )
    if event.kind is Kind.SCHEDULER_TOLD:
        return _told(before, event)
    if event.kind is Kind.BACKWARD:
        idle = 0 if before.stepped_since else before.idle + 1
        return _passing(before, 0, idle=idle, filling=True, pending=False)
    if event.kind in STEPS:
        return _passing(before, 1, updates=before.updates + 1, stepped_since=True, idle=0, filling=False, pending=False)
    if event.kind is Kind.EPOCH_END:
        return _passing(before, 2)
    if event.kind is Kind.OPAQUE:
        return with_changes(before, stepped_since=True, idle=0, filling=False, pending=False, since=None)
    if event.kind is Kind.CREATE:
        return _created(before, event)
    return before


def _again(before: Cadence) -> dict[str, Any]:
    """Whether a step is one more for the same update, and for how many updates there was one."""
    if before.since == (0, 0, 0) and before.cadence_steps > 0:
        return {"twice": True, "doubled": before.doubled + (not before.twice)}
    return {"twice": False, "doubled": before.doubled if before.twice else 0}


def _told(before: Cadence, event: Event) -> Cadence:
    """The cadence after a metric or a position; what that says of a schedule counts if nobody saw it made."""
    unseen = before.schedule is None
    return with_changes(
        before,
        told=before.told + 1,
        pace=_pace(before, event),
        since=(0, 0, 0),
        meant=event.detail.get("meant") if unseen else before.meant,
    )


def _created(before: Cadence, event: Event) -> Cadence:
    """The cadence of what is made now: what has passed before is none of its time."""
    horizon = event.detail.get("horizon")
    return with_changes(
        before,
        unit=event.detail.get("unit"),
        exact="exact" in event.detail,
        horizon=int(horizon) if horizon else None,
        schedule=event.detail.get("schedule"),
        meant=event.detail.get("meant"),
        passed=(0, 0, 0),
    )


def _passing(before: Cadence, unit: int, **changes: object) -> Cadence:
    """The cadence after one micro-batch, update or epoch more."""
    since = None if before.since is None else _one_more(before.since, unit)
    return with_changes(before, passed=_one_more(before.passed, unit), since=since, **changes)


def _one_more(counts: tuple[int, int, int], unit: int) -> tuple[int, int, int]:
    found = list(counts)
    found[unit] += 1
    return (found[0], found[1], found[2])


def _pace(before: Cadence, event: Event) -> frozenset[str] | None:
    """The units of which one has passed again; what passed before the first step, or unseen, says nothing.

    There is no pace where it depends on the batch whether the scheduler steps.
    """
    if "sometimes" in event.detail:
        return frozenset()
    if before.since is None or before.cadence_steps + before.told == 0:
        return before.pace
    ones = frozenset(unit for unit, count in zip(UNITS, before.since, strict=True) if count == 1)
    return ones if before.pace is None else before.pace & ones
