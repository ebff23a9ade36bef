"""What a scheduler's own numbers say of the schedule: its horizon, and what kind of step it is meant for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from torch.optim.lr_scheduler import LRScheduler

from amplint.dialects.schedules import TORCH_SCHEDULES, Schedule

_HORIZONS = ("T_max", "total_steps", "num_training_steps")  # after which the schedule is over


def said_of(scheduler: Any) -> dict[str, str]:
    """The detail of the event that makes a scheduler known. The schedules of transformers are LambdaLRs whose function
    is a `functools.partial` with the numbers as keywords (transformers 5.23, `optimization.py`)."""
    name = type(scheduler).__name__
    numbers = {**vars(scheduler), **_keywords(scheduler)}
    detail = {"schedule": name}
    argument = next((part for part in _HORIZONS if isinstance(numbers.get(part), int)), None)
    if argument is not None:
        detail |= {"argument": argument, "horizon": str(numbers[argument])}
    meant = "batches" if "num_warmup_steps" in numbers else _meant(TORCH_SCHEDULES.get(name, Schedule()), numbers)
    return {**detail, "meant": meant} if meant is not None else detail


def _meant(schedule: Schedule, numbers: Mapping[str, Any]) -> str | None:
    value = numbers.get(schedule.epochs.name) if schedule.epochs is not None else None
    return schedule.meant(sorted(value) if isinstance(value, Iterable) else [value])


def _keywords(scheduler: Any) -> Mapping[str, Any]:
    """The keywords of the function that gives the factors of a LambdaLR, where it is a partial."""
    functions = getattr(scheduler, "lr_lambdas", None) or [None]
    return functions[0].keywords if isinstance(functions[0], partial) else {}


def parts_of(scheduler: Any) -> list[LRScheduler]:
    """The schedulers that this one holds, and so steps by itself."""
    held = [value if isinstance(value, list | tuple) else [value] for value in vars(scheduler).values()]
    return [part for values in held for part in values if isinstance(part, LRScheduler)]
