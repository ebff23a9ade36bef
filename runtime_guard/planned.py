"""What a scheduler's own numbers say of the schedule: its horizon, and what kind of step it is meant for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from types import CellType, FunctionType
from typing import Any

from torch.optim.lr_scheduler import LRScheduler

from amplint.dialects.schedules import TORCH_SCHEDULES, Schedule
from amplint.protocol.cadence import HOLDS

_HORIZONS = ("T_max", "total_steps", "num_training_steps")  # after which the schedule is over
_OWN = ("t_total", "total_iters", "max_iters", "max_steps")
"""What people call it besides, in classes and functions of their own; torch's `total_iters` are those of a warm-up."""


def said_of(scheduler: Any) -> dict[str, str]:
    """The detail of the event that makes a scheduler known. The schedules of transformers are LambdaLRs whose function
    is a `functools.partial` with the numbers as keywords (transformers 5.23, `optimization.py`)."""
    name = type(scheduler).__name__
    numbers = {**vars(scheduler), **_closed_over(scheduler), **_keywords(scheduler)}
    detail = {"schedule": name}
    names = _HORIZONS if name in TORCH_SCHEDULES and name != "LambdaLR" else (*_HORIZONS, *_OWN)
    argument = next((part for part in names if type(numbers.get(part)) is int), None)
    if argument is not None:
        detail |= {"argument": argument, "horizon": str(numbers[argument])}
    schedule = TORCH_SCHEDULES.get(name, Schedule())
    if schedule.first is not None and schedule.holds(_numbers(numbers.get(schedule.first[0]))):
        detail[HOLDS] = "yes"
    meant = "batches" if "num_warmup_steps" in numbers else _meant(schedule, numbers)
    return {**detail, "meant": meant} if meant is not None else detail


def _meant(schedule: Schedule, numbers: Mapping[str, Any]) -> str | None:
    value = numbers.get(schedule.epochs.name) if schedule.epochs is not None else None
    return schedule.meant(_numbers(value))


def _numbers(value: Any) -> list[Any]:
    """The milestones of a schedule, or its one number."""
    return sorted(value) if isinstance(value, Iterable) else [value]


def _keywords(scheduler: Any) -> Mapping[str, Any]:
    """The keywords of the function that gives the factors of a LambdaLR, where it is a partial."""
    functions = getattr(scheduler, "lr_lambdas", None) or [None]
    return functions[0].keywords if isinstance(functions[0], partial) else {}


def _closed_over(scheduler: Any) -> Mapping[str, Any]:
    """The numbers that the function of a LambdaLR takes from the function around it, or from its module."""
    function = (getattr(scheduler, "lr_lambdas", None) or [None])[0]
    if not isinstance(function, FunctionType):
        return {}
    names, cells = function.__code__.co_freevars, function.__closure__ or ()
    given = {name: _content(cell) for name, cell in zip(names, cells, strict=True)}
    return {name: function.__globals__.get(name) for name in function.__code__.co_names} | given


def _content(cell: CellType) -> Any:
    """What a name of the function around stands for, None if it stands for nothing yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def parts_of(scheduler: Any) -> list[LRScheduler]:
    """The schedulers that this one holds, and so steps by itself."""
    held = [value if isinstance(value, list | tuple) else [value] for value in vars(scheduler).values()]
    return [part for values in held for part in values if isinstance(part, LRScheduler)]
