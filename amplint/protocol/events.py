"""The events of a training step, as both halves see them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import NamedTuple

from amplint.protocol.precision import Precision
from amplint.protocol.ranks import Sync, Wrapper
from amplint.protocol.readings import Reading
from amplint.protocol.values import quickly_made


class Kind(Enum):
    """What happened. The value is how a report names it."""

    __hash__ = object.__hash__  # members are compared by identity; Enum hashes their names in Python

    CREATE = "optimizer or scheduler created"
    SCALER_CREATED = "scaler created"
    SCALE = "loss scaled"
    RESCALE = "scaled loss scaled again"
    DISCARD = "scaled loss thrown away"
    BACKWARD = "backward"
    UNSCALE = "gradients unscaled"
    CLIP = "gradients clipped"
    MISSED_CLIP = "clip of another optimizer's parameters, which have no gradients of this loss"
    NORM = "gradient norm measured"
    EMPTY_CLIP = "clip of an iterator that holds nothing any more"
    BYPASS = "forward of a model inside its wrapper"
    PENALTY = "gradients of a scaled loss, used in a loss as they are"
    CRITERION = "criterion called in a precision that matters"
    DIVIDE = "gradients divided"
    REDUCE = "gradients reduced over the ranks by hand"
    STEP = "optimizer step"
    SCALER_STEP = "optimizer step through the scaler"
    REUSED = "optimizer step whose gradients another loss is added to"
    ASKED = "step asked of a framework that decides itself when to take it"
    UPDATE = "scaler update"
    ZERO_GRAD = "gradients zeroed"
    SCHEDULER_STEP = "scheduler step"
    SCHEDULER_TOLD = "scheduler told its position, or a metric"
    LOSS_DIVIDED = "loss divided after its backward"
    KEEP = "loss added to a running total with its graph"
    SPEND = "running total back-propagated"
    PASS = "backward through a model on the way to another one"
    AVERAGE = "weights averaged"
    EPOCH_END = "data loader exhausted"
    OPAQUE = "code that could not be followed may have changed the gradients"
    END = "end of the run"


STEPS = frozenset({Kind.STEP, Kind.SCALER_STEP})

KEPT = "kept"
"""Of the end of a run: the schedules that only code which is seen has held."""
BESIDE_OTHERS = "beside others"
"""The detail of the end of a run in which all that can use gradients was seen to step."""

ELEMENTS = "elements"
"""The detail of a clip of each element by itself, which knows no norm."""
RUN_WHOLE = "run_whole"
"""The detail of a backward in a window that a framework runs in one call: of how many micro-steps."""
AS_CALLED = "as it was called"
"""What the detail of a step says it holds, of a framework that is known to add up what its schedule has made."""
OVERTAKEN = "overtaken"
"""The detail of a clip before a backward whose gradients are clipped again before they are stepped with."""
TOO_EARLY = "too early"
"""The detail of a clip of a model that the next backward goes through, and the last one did not."""

Branches = frozenset[tuple[tuple["Site", ...], int]]
"""The branches that something stands in: the place of each `if`, with the calls that led to it, and which branch."""


def exclude(one: Branches, other: Branches) -> bool:
    """Whether two places are in different branches of the same `if`, so that one pass through it never runs both."""
    return any(place == same and branch != taken for place, branch in one for same, taken in other)


class Site(NamedTuple):
    """A place in the user's code. Rows and columns count from 1; 0 means not known; the end is exclusive.

    A tuple, as places are hashed and compared at every event, and tuples do that in C.
    """

    path: str
    row: int
    column: int = 0
    end_row: int = 0
    end_column: int = 0


ANY_LENGTH = "N"
"""How a message spells the length of a window that has no spelling."""


@dataclass(frozen=True)
class Gate:
    """The condition that lets an optimizer step happen only on some micro-steps: an `if`, or the loop over a window.

    `length` is how the user spells the window's length (`accum_steps`), if that is known. `restarts` says whether its
    counter is known to start again (True), known to run on (False) over epochs, or not known (None); `counter`: how the
    user spells it.
    """

    site: Site
    length: str | None = None
    restarts: bool | None = None
    counter: str = field(default="", compare=False)


@quickly_made
@dataclass(frozen=True)
class Event:
    """One thing that happened to one optimizer, scaler or scheduler.

    `weight` is the factor between the criterion's mean and what was back-propagated, without the loss scale (1 for
    an undivided mean loss, 1/N for a divided one), None when it is not known. `scaled` says whether the
    back-propagated loss carries the scale of `scaler`, None when not known. `factors` are symbols that the user
    multiplied onto the loss (a loss scale by hand). `stack` is the sites of the calls that led here, outermost
    first: two events are the same step of the program when site and stack agree. `maker` is the place at which the
    scaler was made, with no more than its default state; () when that is not known. `total` is the running
    total that holds losses. `detail` holds what a message may quote. `reading` holds the numbers that the live half
    measured. `forward`: the precision of the forward that a back-propagated loss, or what a criterion is given, comes
    from; `region`: that of the place of the event; `parameters`: that of the parameters that are unscaled or stepped.
    `wrapper`: what wraps the model that is back-propagated through or clipped; `sync`: whether a backward reduces over
    the ranks. `reach`: the models that a loss went through, each with itself and with those whose outputs it was given.
    `alone`: a backward reached no other optimizer's parameters. `branches`: those of conditions that a backward is in.
    """

    kind: Kind
    site: Site
    optimizer: str | None = None
    scaler: str | None = None
    scheduler: str | None = None
    total: str | None = None
    weight: Fraction | float | None = None
    scaled: bool | None = False
    factors: frozenset[str] = frozenset()
    gate: Gate | None = None
    stack: tuple[Site, ...] = ()
    maker: tuple[Site, ...] = ()
    repeats: bool = True
    detail: dict[str, str] = field(default_factory=dict, compare=False, hash=False)
    reading: Reading | None = field(default=None, compare=False, hash=False)
    forward: Precision = Precision.UNKNOWN
    region: Precision = Precision.UNKNOWN
    parameters: Precision = Precision.UNKNOWN
    wrapper: Wrapper = Wrapper.NONE
    sync: Sync = Sync.UNKNOWN
    reach: frozenset[tuple[str, str]] = field(default=frozenset(), compare=False, hash=False)
    alone: bool = False
    branches: Branches = field(default=frozenset(), compare=False, hash=False)

    @property
    def step_of_program(self) -> tuple[Site, ...]:
        """What tells two events of the same source place apart: the place and the calls that led to it."""
        return (*self.stack, self.site)
