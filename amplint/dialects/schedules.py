"""What the arguments of learning-rate schedules count: `torch/optim/lr_scheduler.py` of torch 2.13,
`transformers/optimization.py` of transformers 5, and of 2.0 and pytorch_transformers 1.2, where they were classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

UNREAD = "of a class not read"
"""Stands among the methods that a module calls on a name: it is bound to an object of a class of another module."""


@dataclass(frozen=True)
class Epochs:
    """An argument that counts epochs (or decays once for each) when its numbers are no larger than `most`.

    `factor`: the position of `gamma`, the factor of each decay. One above SLOW is meant to be applied often."""

    name: str
    position: int
    most: float
    default: float | None = None
    factor: int | None = None


SLOW = 0.98
"""Of which a hundred leave a tenth."""


STEP = Epochs("step_size", 1, 30, factor=2)
"""What says how many of its steps a StepLR waits for each decay."""


@dataclass(frozen=True)
class Schedule:
    """One kind of schedule, by the arguments of its constructor.

    `horizons`: the arguments that say after how many of its own steps the schedule (or one round of it) is over, with
    their positions. `optimizer`: the position of the optimizer. `parts`: the position of the schedules that it steps
    itself, None when it has none. `epochs`: the argument whose numbers tell a schedule that is meant for one step per
    epoch, as papers give it; larger ones may well count updates. `batches`: it is meant for one step per update, as
    its warm-up lasts less than an epoch. `first`: the argument that says for how many steps its first value holds.
    `ends`: it raises when it is stepped beyond its horizon. `warm`: the argument that says for how many of its steps it
    warms up, where that is not its horizon. `kinds`: what it is by the text of its first argument, where that is
    something else. `constant`: the rate never moves.
    """

    horizons: Mapping[str, int] = field(default_factory=dict)
    optimizer: int = 0
    parts: int | None = None
    epochs: Epochs | None = None
    batches: bool = False
    first: tuple[str, int] | None = None
    ends: bool = False
    warm: tuple[str, int] | None = None
    kinds: Mapping[str, Schedule] = field(default_factory=dict)
    constant: bool = False

    def of_kind(self, kind: object) -> Schedule:
        """What it is when its first argument is this text."""
        return self.kinds.get(kind, self) if isinstance(kind, str) else self

    def holds(self, value: object) -> bool:
        """Whether its first value holds for more than one step, by the argument that says so; None: its default."""
        numbers = value if isinstance(value, (list, tuple)) and value else (value,)
        return self.first is not None and not any(type(number) is int and number < 2 for number in numbers)

    def meant(self, numbers: Sequence[object]) -> str | None:
        """`epochs` or `batches` where the numbers of `epochs` leave no doubt about what the schedule is meant for."""
        if self.batches:
            return "batches"
        known = [number for number in numbers if isinstance(number, (int, float))]
        if self.epochs is None or not known or len(known) < len(numbers):
            return None
        return "epochs" if all(0 < number <= self.epochs.most for number in known) else None


_WARM_UP = "num_warmup_steps"
_ONLY_WARM = Schedule({_WARM_UP: 1}, batches=True)


def _warm(training_steps: int) -> Schedule:
    return Schedule({"num_training_steps": training_steps}, batches=True, warm=(_WARM_UP, 1))


PER_EPOCH = "steps_per_epoch"
"""The argument of `OneCycleLR` that is multiplied by the number of epochs."""
KIND = "name"
"""The argument that says which kind of schedule `get_scheduler` makes, its first."""


def _chosen(warm_up: int) -> Schedule:
    """What `get_scheduler` makes: some kinds pass the number of training steps over, as they never come to an end."""
    only_warm = Schedule({_WARM_UP: warm_up}, optimizer=1, batches=True)
    kinds = {
        "constant": Schedule(optimizer=1, constant=True),
        **dict.fromkeys(("piecewise_constant", "reduce_lr_on_plateau"), Schedule(optimizer=1)),
        **dict.fromkeys(("constant_with_warmup", "inverse_sqrt"), only_warm),
    }
    end = {"num_training_steps": warm_up + 1}
    return Schedule(end, optimizer=1, batches=True, warm=(_WARM_UP, warm_up), kinds=kinds)


TORCH_SCHEDULES: Mapping[str, Schedule] = MappingProxyType(
    {
        "ChainedScheduler": Schedule(optimizer=1, parts=0),
        "ConstantLR": Schedule({"total_iters": 2}, first=("total_iters", 2)),
        "CosineAnnealingLR": Schedule({"T_max": 1}),
        "CosineAnnealingWarmRestarts": Schedule({"T_0": 1}, epochs=Epochs("T_0", 1, 30)),
        "CyclicLR": Schedule({"step_size_up": 3}, batches=True),
        "ExponentialLR": Schedule(epochs=Epochs("gamma", 1, SLOW)),
        "LambdaLR": Schedule(),
        "LinearLR": Schedule({"total_iters": 3}),
        "MultiplicativeLR": Schedule(),
        "MultiStepLR": Schedule(epochs=Epochs("milestones", 1, 300, factor=2), first=("milestones", 1)),
        "OneCycleLR": Schedule({"total_steps": 2, PER_EPOCH: 4}, batches=True, ends=True),
        "PolynomialLR": Schedule({"total_iters": 1}),
        "ReduceLROnPlateau": Schedule(epochs=Epochs("patience", 3, 30, default=10)),
        "SequentialLR": Schedule(parts=1),
        "StepLR": Schedule(epochs=STEP, first=("step_size", 1)),
    }
)

SWA_SCHEDULES: Mapping[str, Schedule] = MappingProxyType(
    {"SWALR": Schedule(epochs=Epochs("anneal_epochs", 2, 30, default=10))}
)
"""Moves on with each step: `torch/optim/swa_utils.py` of torch 2.13, `SWALR.get_lr`."""

OF_FUNCTIONS = frozenset({"LambdaLR", "MultiplicativeLR"})
"""Those that are made of functions, which compute the rates."""

BASES: Mapping[str, Schedule] = MappingProxyType({"LRScheduler": Schedule(), "_LRScheduler": Schedule()})
"""What all schedules of torch derive from, and most that people write themselves; the second name until torch 2.0."""

TRANSFORMERS_SCHEDULES: Mapping[str, Schedule] = MappingProxyType(
    {
        "get_constant_schedule": Schedule(constant=True),
        "get_constant_schedule_with_warmup": _ONLY_WARM,
        "get_cosine_schedule_with_warmup": _warm(2),
        "get_cosine_with_hard_restarts_schedule_with_warmup": _warm(2),
        "get_cosine_with_min_lr_schedule_with_warmup": _warm(2),
        "get_cosine_with_min_lr_schedule_with_warmup_lr_rate": _warm(2),
        "get_inverse_sqrt_schedule": _ONLY_WARM,
        "get_linear_schedule_with_warmup": _warm(2),
        "get_polynomial_decay_schedule_with_warmup": _warm(2),
        "get_reduce_on_plateau_schedule": Schedule(),
        "get_scheduler": _chosen(2),
        "get_wsd_schedule": _warm(3),
    }
)

FORMER_SCHEDULES: Mapping[str, Schedule] = MappingProxyType(
    {
        "ConstantLRSchedule": Schedule(constant=True),
        "WarmupConstantSchedule": Schedule(batches=True),
        **dict.fromkeys(
            ("WarmupCosineSchedule", "WarmupCosineWithHardRestartsSchedule", "WarmupLinearSchedule"),
            Schedule({"t_total": 2}, batches=True),
        ),
    }
)
"""Subclasses of `LambdaLR`, before transformers had functions for them."""

BY_HAND = "<rate by hand>"
"""Stands for a function that is told the position in a schedule which the program computes by itself, and its total."""

MEMBER = "[*]"
"""After the name of a table stands for a member of it, whichever that is."""

TABLE = f"TYPE_TO_SCHEDULER_FUNCTION{MEMBER}"
"""All members with a horizon call it `num_training_steps`: transformers 5.23, diffusers 0.36, `optimization.py`."""

OF_A_TABLE: Mapping[str, Schedule] = MappingProxyType({TABLE: Schedule({"num_training_steps": 2})})

DIFFUSERS_SCHEDULES: Mapping[str, Schedule] = MappingProxyType(
    {
        **{
            name: TRANSFORMERS_SCHEDULES[name]
            for name in (
                "get_constant_schedule",
                "get_constant_schedule_with_warmup",
                "get_cosine_schedule_with_warmup",
                "get_cosine_with_hard_restarts_schedule_with_warmup",
                "get_linear_schedule_with_warmup",
                "get_polynomial_decay_schedule_with_warmup",
            )
        },
        "get_piecewise_constant_schedule": Schedule(),
        "get_scheduler": _chosen(3),
    }
)
"""`diffusers/optimization.py` of diffusers 0.36."""

HORIZONS = frozenset(
    name
    for table in (TORCH_SCHEDULES, TRANSFORMERS_SCHEDULES, FORMER_SCHEDULES)
    for schedule in table.values()
    for name in schedule.horizons
)
"""What the arguments are called that say after how many steps a schedule is over."""

DERIVED_FROM = frozenset({*TORCH_SCHEDULES, *BASES})
"""The classes of torch from which a schedule of the user's own may derive."""

WAITS = "accelerate 0.16"
"""Since when a prepared scheduler waits for the boundary of a window: `scheduler.py` of 0.15 and of 0.16, `step`."""
