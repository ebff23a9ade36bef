"""Questions about measured numbers that the rules of the live half ask of a moment."""

from __future__ import annotations

from itertools import pairwise
from math import isclose

from amplint.protocol.events import STEPS, Kind
from amplint.protocol.readings import ScaleReading, TermReading, WindowReading, known
from amplint.protocol.state import Moment

_CLOSE = 1e-3
_UNEVEN = 1.05
_SKIPPED_FIRST = 5
_SKIPPED_IN_A_ROW = 20
_LOST = 4
_INTERVALS = 2


def window_of(moment: Moment) -> WindowReading | None:
    """The numbers of the window that a step ends, if there are any."""
    reading = moment.event.reading
    return reading if moment.event.kind in STEPS and isinstance(reading, WindowReading) else None


def scale_of(moment: Moment) -> ScaleReading | None:
    """The numbers of a scaler after its update, if there are any."""
    reading = moment.event.reading
    return reading if moment.event.kind is Kind.UPDATE and isinstance(reading, ScaleReading) else None


def uneven_tokens(moment: Moment) -> dict[str, str] | None:
    """How much more a token of one micro-batch weighs than one of another, if all micro-batches weigh the same."""
    reading = window_of(moment)
    main = reading.main if reading is not None else None
    if main is None or not main.tokens or len(main.weights) < 2 or main.common_weight is None:
        return None
    weights = main.element_weights
    if main.spread is None or main.spread < _UNEVEN:
        return None
    heavy, light = weights.index(max(weights)), weights.index(min(weights))
    whole = main.weight_sum is not None and isclose(main.weight_sum, len(weights), rel_tol=_CLOSE)
    spread = f"{main.spread:.1f}" if main.spread >= 1.95 else f"{main.spread:.2f}"
    return {
        "how": "added up whole" if whole else "averaged",
        "weighs": f"each token of micro-batch {heavy + 1} weighs {spread} times a token of micro-batch {light + 1}",
        "counts": ", ".join(f"{count:g}" for count in main.counts if count is not None) + " tokens",
    }


def unmeasured(moment: Moment) -> bool:
    """Whether no numbers of a window were measured at a moment."""
    return window_of(moment) is None


def wrong_divisor(moment: Moment) -> dict[str, str] | None:
    """By what the losses of a window are divided instead of its length, where the numbers show what it is."""
    reading = window_of(moment)
    main = reading.main if reading is not None else None
    if reading is None or main is None or len(main.weights) != reading.micro_steps or reading.micro_steps < 2:
        return None
    if moment.ledger.window.lost:
        return None  # what is left of a window is not all that was divided
    found = _running_index(main) or _batch_size(main, moment) or _epoch(main, moment) or _not_as_said(main, reading)
    return None if found is None else {"n": str(reading.micro_steps), **found}


def collapsed(moment: Moment) -> dict[str, str] | None:
    """Whether the loss scale has fallen below 1, or nothing but skipped steps has come for long."""
    reading = scale_of(moment)
    if reading is None:
        return None
    if reading.skipped_in_a_row >= _SKIPPED_IN_A_ROW:
        return {"what": f"{reading.skipped_in_a_row} steps in a row were skipped"}
    if reading.scale is not None and reading.scale < 1:
        return {"what": f"the loss scale has fallen to {reading.scale:.3g}"}
    return None


def unrecovered(moment: Moment) -> dict[str, str] | None:
    """How often the scale has fallen, if it was long enough, often enough, and has not grown once."""
    reading = scale_of(moment)
    if reading is None or reading.scale is None or reading.lost < _LOST:
        return None
    if reading.taken < _INTERVALS * reading.growth_interval:
        return None
    return {
        "lost": str(reading.lost),
        "steps": str(reading.taken),
        "interval": str(reading.growth_interval),
        "scale": f"{reading.scale:.3g}",
    }


def slow_start(moment: Moment) -> dict[str, str] | None:
    """How many steps were skipped before the first that was not, if they were many."""
    reading = scale_of(moment)
    if reading is None or reading.skipped_first < _SKIPPED_FIRST:
        return None
    return {"skipped": str(reading.skipped_first)}


def _divisor(main: TermReading) -> float | None:
    """The number that every mean of the window was divided by, as far as its weights show."""
    return 1 / main.common_weight if main.common_weight is not None else None


def _whole(number: float | None) -> int | None:
    """A number that is a whole one, and more than one."""
    if number is None or number < 1.5 or not isclose(number, round(number), rel_tol=_CLOSE):
        return None
    return round(number)


def _running_index(main: TermReading) -> dict[str, str] | None:
    """Divisors that go up by one, each the reciprocal of its micro-step's weight."""
    values = known(main.weights) if main.common_weight is None else None
    if values is None or len(values) < 3 or not all(main.divisors) or min(values) <= 0:
        return None
    divisors = [1 / value for value in values]
    steps = [after - before for before, after in pairwise(divisors)]
    if not all(isclose(step, 1, rel_tol=_CLOSE * len(values)) for step in steps) or _whole(divisors[-1]) is None:
        return None
    return {"what": f"a running index, from {divisors[0]:.0f} to {divisors[-1]:.0f}", "sum": f"{sum(values):.3g}"}


def _batch_size(main: TermReading, moment: Moment) -> dict[str, str] | None:
    divisor = _whole(_divisor(main))
    if divisor is None or divisor == len(main.weights) or not _settled(moment):
        return None
    if any(rows != divisor for rows in main.rows) or not _divided_by(main, divisor):
        return None
    return {"what": f"the batch size, {divisor}", "sum": f"{main.weight_sum:.3g}"}


def _divided_by(main: TermReading, divisor: int) -> bool:
    """Whether a number is one that every loss was divided by, and no product of others."""
    return all(not by or any(isclose(one, divisor, rel_tol=_CLOSE) for one in by) for by in main.divisors)


def _epoch(main: TermReading, moment: Moment) -> dict[str, str] | None:
    """The number of batches of an epoch, once one is over."""
    divisor = _whole(_divisor(main))
    epochs = moment.ledger.window.lengths[:-1]
    if divisor is None or divisor == len(main.weights) or not _settled(moment) or not epochs:
        return None
    if any(sum(lengths) != divisor for lengths in epochs) or not _divided_by(main, divisor):
        return None
    return {"what": f"the number of batches in an epoch, {divisor}", "sum": f"{main.weight_sum:.3g}"}


def _not_as_said(main: TermReading, reading: WindowReading) -> dict[str, str] | None:
    """Another sum than 1 in a window of the length that the user has named, and not simply no division."""
    if reading.accumulation_steps != reading.micro_steps or main.common_weight is None or main.weight_sum is None:
        return None
    if isclose(main.weight_sum, 1, rel_tol=_CLOSE) or isclose(main.weight_sum, reading.micro_steps, rel_tol=_CLOSE):
        return None
    return {"what": f"{_divisor(main):.4g}", "sum": f"{main.weight_sum:.3g}"}


def _settled(moment: Moment) -> bool:
    """Whether windows have one length, so that this one is no tail."""
    window = moment.ledger.window
    return window.steps > 0 and window.first == window.longest == window.micro_steps
