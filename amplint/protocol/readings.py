"""Numbers measured in a running process, as plain floats: what the live half knows beyond the order of events.

The static half has none. A number that is still on a device is None until it has arrived.

The *weight* of a loss is the factor between the mean over its elements and what was back-propagated, without the loss
scale: 1 for an undivided mean, 1/N for a divided one, n/total for a sum over n tokens divided by all tokens. The
weights of a right window add up to 1, and each of its elements (tokens) weighs the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isclose


@dataclass(frozen=True)
class TermReading:
    """What one criterion put into the gradient of a window, micro-step by micro-step.

    `weights`: measured by the graph. `factors`: the same by arithmetic, from the numbers that the code multiplied and
    divided by. `counts`: the elements that entered the mean or sum (valid tokens where the criterion ignores some).
    `rows`: the micro-batches' sizes. `tokens`: the elements are tokens (or pixels), not samples.
    `divisors`: the numbers that each micro-step's loss was divided by, outermost first.
    """

    name: str
    weights: tuple[float | None, ...]
    factors: tuple[float | None, ...]
    counts: tuple[float | None, ...]
    rows: tuple[int | None, ...]
    tokens: bool = False
    divisors: tuple[tuple[float, ...], ...] = ()

    @cached_property
    def weight_sum(self) -> float | None:
        """The sum of the window's weights by the graph."""
        return total(self.weights)

    @cached_property
    def factor_sum(self) -> float | None:
        """The sum of the window's weights by arithmetic."""
        return total(self.factors)

    @cached_property
    def element_weights(self) -> tuple[float, ...]:
        """What one element of each micro-batch weighs, in units of its share in a mean over all; () when not known."""
        counts, weights = known(self.counts), known(self.weights)
        if counts is None or weights is None or not all(count > 0 for count in counts):
            return ()
        whole = sum(counts)
        return tuple([weight / count * whole for weight, count in zip(weights, counts, strict=True)])

    @cached_property
    def spread(self) -> float | None:
        """How many times more the heaviest element weighs than the lightest; None for weights that are not positive."""
        weights = self.element_weights
        return max(weights) / min(weights) if weights and min(weights) > 0 else None

    @cached_property
    def common_weight(self) -> float | None:
        """The first weight if all are known, positive and the same to a thousandth; else None."""
        weights = known(self.weights)
        if weights is None or min(weights) <= 0 or not isclose(min(weights), max(weights), rel_tol=1e-3):
            return None
        return weights[0]


@dataclass(frozen=True)
class Touch:
    """Something multiplied a gradient between two backward passes: what did, after which micro-step, by how much."""

    what: str
    micro_step: int
    factor: float


@dataclass(frozen=True)
class WindowReading:
    """The numbers of one window of one optimizer, before its step.

    `terms`: its criteria, the heaviest first. `accumulation_steps`: what the user said that a window holds.
    """

    micro_steps: int
    terms: tuple[TermReading, ...] = ()
    accumulation_steps: int | None = None

    @property
    def main(self) -> TermReading | None:
        """The criterion that weighs most; None when no loss could be read."""
        return self.terms[0] if self.terms else None


@dataclass(frozen=True)
class ScaleReading:
    """The numbers of one loss scaler after an update.

    `skipped_first`: the steps skipped before the first that was taken, told in one reading only, else 0.
    `skipped_in_a_row`: of the latest steps. `scale` may be an update or two old. `lost`: the steps skipped since the
    first that was taken, if the scale is what they left of it, so that it has never grown, else 0. `taken`: the steps
    since then.
    """

    scale: float | None
    steps: int
    skipped: int
    skipped_first: int
    skipped_in_a_row: int
    growth_interval: int
    lost: int = 0
    taken: int = 0


@dataclass(frozen=True)
class TokenShare:
    """The tokens of one rank's window: how many, and what one of them weighs where all of them weigh the same.

    `meant`: that they do is no chance: micro-batches of different sizes weigh by their tokens, or a sum was divided by
    their number.
    """

    tokens: float
    weight: float
    meant: bool = True


@dataclass(frozen=True)
class RankFacts:
    """What one process knows of an optimizer whose gradients are averaged over the ranks, window by window.

    `lengths`: micro-steps. `skips`: of each step through a scaler, whether it was skipped. `shares`: None where the
    numbers do not say. `whole`: these are all windows of a run that ended by itself. `replica`: a digest of this rank's
    copy of the parameters in the end, where there is one. `around`: the wrapper that reduces their gradients never ran.
    """

    rank: int
    lengths: tuple[int, ...] = ()
    skips: tuple[bool, ...] = ()
    shares: tuple[TokenShare | None, ...] = ()
    whole: bool = True
    replica: str | None = None
    around: bool = False


@dataclass(frozen=True)
class RanksReading:
    """The same optimizer on every rank, by rank."""

    ranks: tuple[RankFacts, ...]


Reading = WindowReading | ScaleReading | RanksReading


def known(values: Sequence[float | None]) -> tuple[float, ...] | None:
    """The values if all of them are known and there is one, else None."""
    found = tuple([value for value in values if value is not None])
    return found if found and len(found) == len(values) else None


def total(values: Sequence[float | None]) -> float | None:
    """The sum of the values, None unless all of them are known."""
    found = known(values)
    return None if found is None else sum(found)
