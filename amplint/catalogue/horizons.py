"""Questions about schedulers: in which unit they step, and which unit their horizon counts.

At the end of a run the unit in which a scheduler steps is known from what passed between its steps, that of its horizon
from what the number was computed from. In a running process the horizon is a mere number: it is known to count
micro-batches, updates or epochs when exactly as many of them have passed when the run is over.
"""

from __future__ import annotations

from amplint.protocol.cadence import (
    ALONE,
    AMISS,
    BY_HAND,
    COMPLEX,
    EACH_AGAIN,
    EPOCHS,
    EPOCHS_AGAIN,
    MICRO_BATCHES,
    MISSIZED,
    MOVES_BY,
    NO_CHANCE,
    OF_ALL_RANKS,
    OF_SAMPLES,
    OVER_EPOCHS,
    PAST,
    PER_PROCESS,
    SEVERAL,
    SHARED_AGAIN,
    SHARED_LATER,
    UNITS,
    UPDATES,
    WARM_UP,
    WHOLE_ONLY,
    Cadence,
)
from amplint.protocol.events import Kind
from amplint.protocol.facts import IN_A_LOOP, Fact
from amplint.protocol.state import Moment

_SINGULAR = {MICRO_BATCHES: "micro-batch", UPDATES: "update", EPOCHS: "epoch"}


def steps_in(cadence: Cadence) -> str | None:
    """The unit in which a scheduler steps, the smallest one if several are alike; None when it keeps no pace.

    Per epoch is known only where epochs are seen to end; per micro-batch and per update only if it went on over such an
    end, or no epoch was seen at all: a loop over `epochs` that back-propagates once has no other batches.
    """
    pace = cadence.pace or frozenset()
    return next((unit for unit in UNITS if unit in pace), None)


def counted(cadence: Cadence) -> str | None:
    """The unit that a horizon counts, as far as it is certain; None when it is not.

    Of units that are alike so far it is the one in which the scheduler steps, if that is among them, else the smallest.
    """
    if cadence.exact:
        return cadence.unit if cadence.unit in UNITS else None  # turns of several kinds may be counted
    if cadence.unit is not None or cadence.horizon is None:
        return None
    if cadence.cadence_steps <= cadence.horizon < NO_CHANCE:
        return None
    found = [unit for unit, count in zip(UNITS, cadence.passed, strict=True) if count == cadence.horizon]
    return next((unit for unit in found if unit in (cadence.pace or ())), next(iter(found), None))


def of_another_unit(moment: Moment) -> bool:
    """Whether a horizon counts another unit than the one that the scheduler steps in, and no other rule says so."""
    if _of_another_size(moment) or amiss(moment):
        return True
    return (_disagree(moment) and not per_epoch_though_in_batches(moment)) or _warm(moment) is not None


def by_hand_in_another_unit(moment: Moment) -> bool:
    """Whether the program sets the rates by a position in micro-batches and a total in updates, or the reverse."""
    often = steps_in(moment.cadence) in (MICRO_BATCHES, UPDATES) and counted(moment.cadence) in (MICRO_BATCHES, UPDATES)
    return _by_hand(moment) and often and _disagree(moment)


def _by_hand(moment: Moment) -> bool:
    made = moment.last.get(Kind.CREATE)
    return made is not None and BY_HAND in made.detail


def moved_too_far(moment: Moment) -> bool:
    """Whether a step moves a schedule whose end counts updates on by more than one of them."""
    said = moment.event.detail
    return MOVES_BY in said and said.get("unit") == UPDATES and "exact" in said


def moved_past_its_end(moment: Moment) -> bool:
    """Whether a run is over that has made as many updates as a schedule has positions, of which each passed several."""
    said = moment.last[Kind.SCHEDULER_STEP].detail
    end = said.get("end", "") if MOVES_BY in said else ""
    return end.isdecimal() and NO_CHANCE <= int(end) == moment.cadence.updates


def uncounted(moment: Moment) -> bool:
    """Whether nobody knows what the horizon of a schedule counts."""
    return moment.of_scheduler and counted(moment.cadence) is None


def _warm(moment: Moment) -> str | None:
    """The unit that a warm-up alone counts, if it is another one than that in which the scheduler steps."""
    made = moment.last.get(Kind.CREATE)
    counts = made.detail.get(WARM_UP) if made is not None else None
    return counts if not _disagree(moment) and _differs(moment, counts) else None


def amiss(moment: Moment) -> bool:
    """Whether nothing but the size of a horizon is wrong: for the ranks, or for batches that are not whole."""
    told = _of_another_size(moment) or _disagree(moment) or _warm(moment) is not None
    return not told and _way(moment) is not None


def _way(moment: Moment) -> str | None:
    """In which way a horizon is wrong though its unit is right, if that is the one in which the scheduler steps."""
    made, pace = moment.last.get(Kind.CREATE), moment.cadence.pace or frozenset()
    way = made.detail.get(AMISS) if made is not None else None
    due = _DUE.get(way) if way is not None else None
    due = moment.cadence.unit or UPDATES if way in (EACH_AGAIN, PER_PROCESS, SHARED_LATER) else due
    return way if due is None or due in pace else None


_DUE = {WHOLE_ONLY: MICRO_BATCHES, OF_ALL_RANKS: MICRO_BATCHES, SHARED_AGAIN: MICRO_BATCHES}


def _of_another_size(moment: Moment) -> bool:
    return _shrunk(moment) is not None or _missized(moment) is not None


def _shrunk(moment: Moment) -> str | None:
    """The batch size by which batches were divided once more, in the horizon of what steps more than once per epoch."""
    made = moment.last.get(Kind.CREATE)
    often = steps_in(moment.cadence) in (MICRO_BATCHES, UPDATES)
    return made.detail.get("shrunk") if made is not None and often else None


def _missized(moment: Moment) -> str | None:
    """How epochs or samples wrongly entered the horizon of what steps more than once per epoch, over several."""
    made, several = moment.last.get(Kind.CREATE), moment.cadence.passed[2] > 1
    often = several and steps_in(moment.cadence) in (MICRO_BATCHES, UPDATES)
    return made.detail.get(MISSIZED) if made is not None and often else None


def _paced(moment: Moment) -> str | None:
    """The unit in which a scheduler steps: as it was counted, or as the loops of a run show."""
    beside = moment.name in moment.event.detail.get("beside", "").split()
    return steps_in(moment.cadence) or (EPOCHS if beside and moment.cadence.pace is not None else None)


def _disagree(moment: Moment) -> bool:
    return _differs(moment, counted(moment.cadence))


def _differs(moment: Moment, counts: str | None) -> bool:
    cadence, steps = moment.cadence, _paced(moment)
    if counts is None or steps is None or counts in (cadence.pace or ()):
        return False
    if counts == EPOCHS:
        return cadence.passed[2] > 1  # else what is called an epoch has one batch
    return not (counts == UPDATES and steps == MICRO_BATCHES) or _by_hand(moment)  # else scheduler-per-micro-step


def per_epoch_though_in_batches(moment: Moment) -> bool:
    """Whether a schedule that is meant for one step per update, with a horizon in such steps, steps once per epoch."""
    cadence = moment.cadence
    return cadence.meant == "batches" and _paced(moment) == EPOCHS and (_disagree(moment) or _several(moment))


def _several(moment: Moment) -> bool:
    """Whether a schedule is told by a number that it steps many times in an epoch, over more than one."""
    made = moment.last.get(Kind.CREATE)
    return made is not None and SEVERAL in made.detail and moment.cadence.passed[2] > 1


def per_batch_though_in_epochs(moment: Moment) -> bool:
    """Whether a decay whose numbers are epochs is stepped on every batch, over more than one epoch."""
    cadence = moment.cadence
    if EPOCHS in (cadence.pace or ()) or _told_where_it_is(cadence):
        return False  # and an epoch may hold a single update
    again = cadence.passed[2] > 1 or moment.name in _begun_anew(moment)
    return cadence.meant == EPOCHS and steps_in(cadence) in (MICRO_BATCHES, UPDATES) and again


def _told_where_it_is(cadence: Cadence) -> bool:
    """Whether a schedule is never moved on but set to a position, which may well count epochs, and parts of them."""
    return cadence.told > 0 == cadence.cadence_steps and cadence.schedule not in (None, "ReduceLROnPlateau")


def _begun_anew(moment: Moment) -> list[str]:
    """What has stepped in a loop over batches that was gone through more than once, as the loops of a run show."""
    return moment.event.detail.get("turned", "").split()


def never_stepped(moment: Moment) -> bool:
    """Whether a run is over that has seen two epochs, or many updates, and a scheduler has not moved once; two updates
    are enough if nothing reads it."""
    cadence = moment.cadence
    if moment.event.kind is not Kind.END or not moment.of_scheduler or Kind.CREATE not in moment.last:
        return False
    constant = cadence.schedule == "LambdaLR" and cadence.meant is None  # as far as anybody knows
    still = cadence.cadence_steps + cadence.told == 0 and not constant
    again = cadence.passed[2] > 1 or bool(_begun_anew(moment))
    unread = cadence.updates >= 2 and moment.name in moment.event.detail.get("unread", "").split()
    return still and (unread or cadence.updates >= 100 or (cadence.updates >= 8 and again))


def after_a_skipped_step(moment: Moment) -> bool:
    """Whether the one update since the scheduler's last step was skipped by the scaler, or may be and nobody asks."""
    latest, since = moment.last.get(Kind.STEP), moment.cadence.since
    if since is None or since[1] != 1 or latest is None:
        return False
    return "skipped" in latest.detail or ("may be skipped" in latest.detail and "asked" not in moment.event.detail)


def skipped_words(moment: Moment) -> dict[str, str]:
    """Whether a step was skipped, or may be."""
    return {"has": "has skipped" if "skipped" in moment.last[Kind.STEP].detail else "may have skipped"}


_AMISS = {
    SHARED_AGAIN: {
        "counts": "a rank's share of the batches, divided by the ranks once more",
        "steps": "micro-batch",
        "result": "with several ranks, the schedule comes to its end long before the run does",
        "unit": "micro-batches: the length of a loader with a `DistributedSampler` is that of one rank",
    },
    OF_ALL_RANKS: {
        "counts": "the micro-batches of all ranks together",
        "steps": "micro-batch of its own rank",
        "result": "with several ranks, the run ends before the schedule does",
        "unit": "micro-batches of one rank, as the length of the loader does",
    },
    SHARED_LATER: {
        "counts": "the batches of a loader of which each process is handed a share later",
        "steps": "micro-batch",
        "result": "with several processes, the run ends before the schedule does",
        "unit": "the batches of one process, as the length of the loader that is prepared does",
    },
    WHOLE_ONLY: {
        "counts": "whole batches only",
        "steps": "micro-batch, smaller ones too",
        "result": "torch raises before the run is over, unless the samples divide by the batch size",
        "unit": "micro-batches, as the length of the loader does, or give the loader `drop_last=True`",
    },
    EACH_AGAIN: {
        "counts": "the updates of all processes together, and those as many times as there are processes",
        "steps": "process at every update, as it is prepared",
        "result": "with several processes, the run ends before the schedule does",
        "unit": "such steps: divide the batches by `accelerator.num_processes` before, or take the length of the "
        "loader that is prepared",
    },
    PER_PROCESS: {
        "counts": "updates",
        "steps": "process at every update, as it is prepared",
        "result": "with several processes, the schedule comes to its end long before the run does",
        "unit": "such steps: multiply it, where it counts updates, and the warm-up, by `accelerator.num_processes`",
    },
}


_MISSIZED = {
    EPOCHS_AGAIN: {
        "counts": "the steps of all epochs, and those as many times as there are epochs",
        "result": "the run ends before the schedule does",
        "unit": "the steps of all epochs: leave one multiplication by the number of epochs out",
    },
    OVER_EPOCHS: {
        "counts": "an epoch's batches, divided by the number of epochs",
        "result": "the schedule comes to its end within the first epoch",
        "unit": "the steps of all epochs: multiply by the number of epochs",
    },
    OF_SAMPLES: {
        "counts": "the samples of all epochs",
        "result": "the run ends before the schedule does",
        "unit": "batches: divide by the batch size, or take the length of the loader",
    },
}


_IN_EPOCHS = {
    "counts": EPOCHS,
    "steps": "process in every epoch, as it is prepared",
    "result": _AMISS[PER_PROCESS]["result"],
    "unit": "such steps: multiply it, and the warm-up, by `accelerator.num_processes`",
}
"""Of a horizon in epochs that is wrong in the way of one in updates."""
_ALONE = {
    **_AMISS[PER_PROCESS],
    "counts": MICRO_BATCHES,
    "result": "the two end together only where there are as many processes as micro-batches in a window",
    "unit": "such steps: updates, multiplied by `accelerator.num_processes`; the warm-up too",
}
"""Of a horizon in micro-batches where the window is no part of what is due, and the number of processes is."""


def unit_words(moment: Moment) -> dict[str, str]:
    """Both units of a horizon, what moves on in one of them, and what comes of it."""
    step = moment.event if moment.event.kind is Kind.SCHEDULER_STEP else moment.last.get(Kind.SCHEDULER_STEP)
    if step is not None and MOVES_BY in step.detail:
        said = step.detail
        return {
            "argument": f"`{said['argument']}`",
            "counts": UPDATES,
            "moves": f"the schedule moves on by `{said[MOVES_BY]}`",
            "steps": _SINGULAR[UPDATES],
            "result": "the schedule comes to its end long before the run does",
            "unit": f"what each update adds, `{said[MOVES_BY]}`, or move it on by 1",
        }
    return {"moves": "the position moves on" if _by_hand(moment) else _STEPS, **_of_units(moment)}


_STEPS = "the scheduler steps"


def _of_units(moment: Moment) -> dict[str, str]:
    counts, steps = counted(moment.cadence) or MICRO_BATCHES, _paced(moment) or ""
    made = moment.last.get(Kind.CREATE)
    argument = f"`{made.detail['argument']}`" if made is not None and "argument" in made.detail else "the horizon"
    if (size := _shrunk(moment)) is not None:
        over = f"the schedule is over after 1/{size} of the run" + _past(moment)
        counts = f"batches divided by {size}, though each of them holds so many samples"
        unit = f"{steps}: leave the division by {size} out"
        return {"argument": argument, "counts": counts, "steps": _SINGULAR[steps], "result": over, "unit": unit}
    if (way := _missized(moment)) is not None:
        return {"argument": argument, "steps": _SINGULAR[steps], **_MISSIZED[way]}
    if (warm := _warm(moment)) is not None:
        slow = UNITS.index(steps) > UNITS.index(warm)
        takes = "lasts longer than it is meant to" if slow else "is over within the first few steps"
        said = {"argument": "`num_warmup_steps`", "counts": warm, "steps": _SINGULAR[steps], "unit": steps}
        return {**said, "result": f"the warm-up {takes}"}
    if amiss(moment):
        way = _way(moment) or ""
        in_epochs = way == PER_PROCESS and moment.cadence.unit == EPOCHS
        moved = {"steps": _SINGULAR[steps]} if way == SHARED_LATER else {}
        return {"argument": argument, **(_IN_EPOCHS if in_epochs else _AMISS[way]), **moved}
    if made is not None and ALONE in made.detail:
        return {"argument": argument, "begins": made.detail.get("begins", ""), **_ALONE}
    slow = UNITS.index(steps) > UNITS.index(counts)
    return {
        "argument": argument,
        "counts": counts,
        "steps": _SINGULAR[steps],
        "result": "the run ends before the schedule does"
        if slow
        else "the schedule comes to its end long before the run does" + _past(moment),
        "unit": f"{steps}, or step it once per epoch" if counts == EPOCHS else steps,
        "cure": "call `scheduler.step()` after every `optimizer.step()`",
        "begins": made.detail.get("begins", "") if made is not None else "",
    }


def _past(moment: Moment) -> str:
    """What becomes of the rate of a schedule that goes on past its end, if that is worse than a small one."""
    made = moment.last.get(Kind.CREATE)
    if made is None or made.detail.get(PAST) != COMPLEX:
        return ""
    return ", and its rate is a complex number from there on, at which torch raises"


def handed_over_per_epoch(fact: Fact) -> dict[str, str] | None:
    """What is wrong with a schedule per update that a framework is left to step once per epoch."""
    if fact.used != IN_A_LOOP or fact.called != "per epoch":
        return None
    return {"counts": UPDATES, "cure": 'hand it over as `{"scheduler": scheduler, "interval": "step"}`'}


def handed_over_per_step(fact: Fact) -> dict[str, str] | None:
    """What is wrong with a horizon in epochs of a schedule that a framework is told to step after every update."""
    if fact.used != IN_A_LOOP or fact.called != "per step":
        return None
    result = "the schedule comes to its end long before the run does"
    return {"argument": f"`{fact.arguments['argument']}`", "counts": EPOCHS, "steps": _SINGULAR[UPDATES]} | {
        "result": result,
        "unit": UPDATES,
        "moves": _STEPS,
    }


def meant_for_epochs(fact: Fact) -> dict[str, str] | None:
    """What is wrong with a decay in epochs that a framework is told to step after every update."""
    if fact.used != IN_A_LOOP or fact.called != "epochs per step":
        return None
    return _of_decay(str(fact.arguments["schedule"]), UPDATES)


def step_words(moment: Moment) -> dict[str, str]:
    """In which unit a scheduler steps, and what becomes of the rate if its numbers are epochs."""
    return _of_decay(moment.cadence.schedule or "ReduceLROnPlateau", steps_in(moment.cadence) or "")


def _of_decay(schedule: str, unit: str) -> dict[str, str]:
    result = "begins anew many times" if schedule.endswith("Restarts") else "is gone"
    return {"steps": _SINGULAR.get(unit, "batch"), "schedule": schedule, "result": result}
