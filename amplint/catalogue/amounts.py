"""Questions about counts and weights that several rules ask of a moment."""

from __future__ import annotations

from collections.abc import Callable
from math import isclose

from amplint.protocol.events import Kind
from amplint.protocol.state import Moment
from amplint.protocol.window import begins_micro_step as _begins
from amplint.protocol.window import loses

_ADAPTIVE = frozenset(
    {"Adam", "Adamax", "NAdam", "RAdam", "RMSprop", "Adagrad", "Adadelta", "Adam8bit", "PagedAdam8bit"}
)
_DECOUPLED = frozenset({"AdamW", "AdamW8bit", "PagedAdamW8bit", "PagedAdamW", "Lion", "Lion8bit"})


def at_least(count: int) -> Callable[[int], bool]:
    """True of numbers that are `count` or more."""
    return lambda number: number >= count


def begins_micro_step(moment: Moment) -> bool:
    """Whether a backward begins another micro-step of the window."""
    return _begins(moment.ledger.window, moment.event)


def undivided(moment: Moment) -> bool:
    """Whether the mean losses of a window's micro-steps were added whole: each weighs 1, and there are several.

    Without a gate nothing says that the micro-steps are meant to be one batch.
    """
    window = moment.ledger.window
    if window.micro_steps < 2 or (moment.event.gate is None and window.gate is None):
        return False
    return any(
        weight is not None and isclose(weight, window.micro_steps, rel_tol=1e-6)
        for place, weight in window.weights
        if place in window.here
    )


def hardly_felt(moment: Moment) -> bool:
    """Whether the optimizer is known not to feel a constant factor: an adaptive one, no clip, no coupled decay."""
    algorithm = moment.ledger.algorithm
    if Kind.CLIP in moment.last or algorithm is None:
        return False
    created = moment.last.get(Kind.CREATE)
    coupled = created is not None and created.detail.get("decays") == "yes"
    return algorithm in _DECOUPLED or (algorithm in _ADAPTIVE and not coupled)


def window_words(moment: Moment) -> dict[str, str]:
    """How a message spells the window's length, and what too large a gradient does under this optimizer."""
    gate = moment.event.gate or moment.ledger.window.gate
    length = gate.length if gate is not None and gate.length else str(moment.ledger.window.micro_steps)
    if hardly_felt(moment):
        consequence = (
            f" ({moment.ledger.algorithm} hides it as long as nothing is clipped or decayed with the gradient)"
        )
    elif Kind.CLIP in moment.last:
        consequence = ", and with it the norm that the clip compares with its threshold"
    else:
        consequence = ", and with it the step of SGD"
    return {"n": length, "consequence": consequence}


def divided_alone(moment: Moment) -> bool:
    """Whether a loss divided by the window is stepped on at once, window after window."""
    window = moment.ledger.window
    backward = moment.last.get(Kind.BACKWARD)
    if backward is None or "divisor" not in backward.detail or backward.detail.get("guarded") or window.steps < 2:
        return False
    alone = window.longest == 1
    return alone and any(weight is not None and 0 < weight < 1 for _, weight in window.weights)


def stepping_words(moment: Moment) -> dict[str, str]:
    """What steps on every micro-step do to the gradients."""
    if moment.event.kind is Kind.ZERO_GRAD:
        return {"what": "used again and again until they are zeroed, each time with one micro-batch more"}
    backward = moment.last[Kind.BACKWARD]
    return {"what": f"divided by {backward.detail['divisor']}, but never accumulated"}


def gated(moment: Moment) -> bool:
    """Whether the event happens only on some micro-steps."""
    return moment.event.gate is not None


def in_a_loop(moment: Moment) -> bool:
    """Whether the backward is one of a loop: two by hand, one after the other, may have gradients of their own."""
    backward = moment.last.get(Kind.BACKWARD)
    return backward is not None and backward.repeats


def ungated(moment: Moment) -> bool:
    """Whether nothing restricts the event to some micro-steps."""
    return moment.event.gate is None


def after_a_short_first(moment: Moment) -> bool:
    """Whether the first window of this epoch had a single micro-step, and its counter is known to start there."""
    gate = moment.event.gate
    return gate is not None and gate.restarts is not None and moment.ledger.window.lengths[-1] == (1,)


def in_the_first_epoch(moment: Moment) -> bool:
    """Whether no epoch has ended yet."""
    return len(moment.ledger.window.lengths) == 1


def not_on_purpose(moment: Moment) -> bool:
    """Whether an erasure that drops a tail was not written for that, in code that has windows."""
    return "discards" not in moment.event.detail and moment.ledger.window.gate is not None


def of_an_index(moment: Moment) -> bool:
    """Whether the window is counted by an index over the batches, so that it does not run on in another epoch."""
    gate = moment.ledger.window.gate
    return gate is not None and bool(gate.restarts) and moment.ledger.window.micro_steps > 0


def longer_than_before(moment: Moment) -> bool:
    """Whether a window with a tail of the last epoch in it is longer than every window before."""
    window = moment.ledger.window
    return window.micro_steps > window.longest > 0 and window.gate is not None


def tail_words(moment: Moment) -> dict[str, str]:
    """What becomes of a tail."""
    if moment.event.kind is Kind.END:
        return {"what": "never stepped: what they contributed is lost"}
    if moment.event.kind is Kind.ZERO_GRAD:
        return {"what": "never stepped: their gradients are erased when the next epoch begins"}
    return {"what": "not stepped: their gradients leak into the first window of the next epoch"}


def takes_out_a_scale(moment: Moment) -> bool:
    """Whether gradients are divided by a symbol that their loss was multiplied by."""
    return bool(moment.event.factors & moment.ledger.factors)


def leads_again(moment: Moment) -> bool:
    """Whether the scheduler's step that came before the first optimizer step is the one that happens now."""
    return moment.cadence.first == moment.event.step_of_program


def losing_again(moment: Moment) -> bool:
    """Whether part of this window was erased, and part of the one before it: one batch that is skipped does not count."""
    window = moment.ledger.window
    return window.losing > 0 and loses(window)


def left_over_again(moment: Moment) -> bool:
    """Whether a run in which no epoch was seen to end stops amid a window, and did so before: a longer window holds such
    a rest of an earlier epoch, or as much was erased.
    """
    window = moment.ledger.window
    left = window.micro_steps
    if window.tail or window.gate is None or not 0 < left < window.first:
        return False
    return window.longest - window.first == left or (window.longest == window.first and window.skipped == left)
