"""Questions about counts and weights that several rules ask of a moment."""

from __future__ import annotations

from collections.abc import Callable
from math import isclose

from amplint.catalogue.felt import consequence
from amplint.catalogue.lengths import length_of, measured
from amplint.protocol.events import ANY_LENGTH, ELEMENTS, Event, Gate, Kind
from amplint.protocol.ledger import carried
from amplint.protocol.readings import WindowReading
from amplint.protocol.state import Moment
from amplint.protocol.window import Window, epoch_of, loses, short_of_its_divisor, totals, worth
from amplint.protocol.window import begins_micro_step as _begins

_LARGE_THRESHOLD = 64.0
_SMALL_THRESHOLD = 0.1


def at_least(count: int) -> Callable[[int], bool]:
    """True of numbers that are `count` or more."""
    return lambda number: number >= count


def begins_micro_step(moment: Moment) -> bool:
    """Whether a backward begins another micro-step of the window."""
    return _begins(moment.ledger.window, moment.event.step_of_program, moment.event.branches)


def undivided(moment: Moment) -> bool:
    """Whether the mean losses of a window's micro-steps were added whole: each weighs 1, and there are several.

    Without a gate nothing says that the micro-steps are meant to be one batch.
    """
    window = moment.ledger.window
    count = window.micro_steps * _added(moment)
    if count < 2 or (moment.event.gate is None and window.gate is None and window.micro_steps == count):
        return False
    return any(weight is not None and isclose(weight, count, rel_tol=1e-6) for weight in totals(window))


def _added(moment: Moment) -> int:
    """Of how many micro-steps the last loss that was back-propagated is the sum."""
    backward = moment.last.get(Kind.BACKWARD)
    return int(backward.detail.get("added", "1")) if backward is not None else 1


def weight_in_doubt(moment: Moment) -> bool:
    """Whether no loss of a window of several micro-steps is known to be divided: then it may be as wrong."""
    window = moment.ledger.window
    here = [weight for place, weight in window.weights if place in window.here]
    divided = any(weight is not None and weight < 0.99 * window.micro_steps for weight in here)
    return window.micro_steps > 1 and not divided


def scale_in_doubt(moment: Moment) -> bool:
    """Whether nobody knows if the loss that is back-propagated carries the scaler's scale."""
    return moment.event.kind is Kind.BACKWARD and moment.event.scaled is None


def window_words(moment: Moment) -> dict[str, str]:
    """How a message spells the window's length, and what too large a gradient does under this optimizer."""
    backward = moment.last.get(Kind.BACKWARD)
    length = (backward.detail.get("added_over") if backward is not None else None) or length_of(moment)
    return {"n": length, "times": _measured_sum(moment) or length, "consequence": consequence(moment)}


def _measured_sum(moment: Moment) -> str | None:
    """How many times the gradient of the equivalent batch the window's is, where that was measured."""
    reading = moment.event.reading
    main = reading.main if isinstance(reading, WindowReading) else None
    known = main is not None and Kind.DIVIDE not in moment.last
    return f"{abs(main.weight_sum):.2f}" if known and main is not None and main.weight_sum is not None else None


def divided_alone(moment: Moment) -> bool:
    """Whether a loss divided by the window is stepped on at once, window after window."""
    gate = moment.event.gate
    if gate is not None and gate.length == ANY_LENGTH and gate.restarts is None:
        return False  # what is asked there may come to pass once per window
    if moment.ledger.window.untold:
        return False  # other micro-steps came before, of which nobody knows what became
    return moment.ledger.window.steps > 1 and _same_step(moment) and _divided_alone(moment)


def _same_step(moment: Moment) -> bool:
    """Whether the optimizer stepped last at the place at which it steps now."""
    return moment.last[Kind.STEP].step_of_program == moment.event.step_of_program


def _divided_alone(moment: Moment) -> bool:
    window = moment.ledger.window
    backward = moment.last.get(Kind.BACKWARD)
    if backward is None or "divisor" not in backward.detail or "continued" in backward.detail:
        return False
    by_a_framework = "outside" in backward.detail and "whole" in backward.detail  # whatever a model has returned
    return window.longest == 1 and any(
        0 < weight < 1 if weight is not None else by_a_framework for _, weight in window.weights
    )


def of_one_optimizer(moment: Moment) -> bool:
    """Whether it is one and the same optimizer that has stepped before, as far as known."""
    return "one_of_several" not in moment.event.detail


def added_between_steps(moment: Moment) -> bool:
    """Whether a step's gradients, with others added to them, were used by another step of the program."""
    return moment.last[Kind.REUSED].step_of_program != moment.last[Kind.STEP].step_of_program


def twice_words(moment: Moment) -> dict[str, str]:
    """Why a step has used what another one had used before."""
    if moment.event.kind is Kind.ZERO_GRAD:
        return {"what": "another loss is added to those that this step has used, and the next step uses both"}
    return {"what": "nothing was back-propagated since its last step, so every weight moves twice for them"}


def gated_alone(moment: Moment) -> bool:
    """Whether a loss divided by the window is back-propagated under the gate of the step, again and again."""
    backward = moment.last.get(Kind.BACKWARD)
    step, own = moment.event.gate, backward.gate if backward is not None else None
    if step is None or own is None or own.length is None or own.length != step.length:
        return False
    return _divided_alone(moment)


def averaged_again(moment: Moment) -> bool:
    """Whether the same place has averaged the weights before, and they have not moved since.

    A step that is left out, as after an overflow, makes no windows: the first one had several micro-steps. A place that
    counts to a length of its own comes more seldom than that of the model, for all that is known.
    """
    window, gate = moment.ledger.window, moment.event.gate
    apart = gate is not None and window.gate is not None and gate.length != window.gate.length
    return window.first > 1 and not apart and moment.event.step_of_program in window.averaged


def stepping_words(moment: Moment) -> dict[str, str]:
    """What steps on every micro-step do to the gradients."""
    if moment.event.kind is Kind.ZERO_GRAD:
        return {"what": "used again and again until they are zeroed, each time with one micro-batch more"}
    backward = moment.last[Kind.BACKWARD]
    return {"what": f"divided by {backward.detail['divisor']}, but never accumulated"}


def erasure_words(moment: Moment) -> dict[str, str]:
    """Whether gradients are never zeroed, or only after many steps, such as once per epoch."""
    if moment.event.kind is Kind.ZERO_GRAD and moment.event.repeats:
        return {"zeroed": "zeroed only once in several steps", "since": "the last erasure"}
    if moment.event.kind is Kind.ZERO_GRAD:  # before a loop, or behind it
        return {"zeroed": "not zeroed between the steps of the loop", "since": "the loop began"}
    return {"zeroed": "never zeroed", "since": "the run began"}


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
    """Whether the first window of this epoch had a single micro-step, and its counter is known to start there.

    A counter that goes on from epoch to epoch completes a window whose first micro-steps were erased in between.
    """
    gate, window = moment.event.gate, moment.ledger.window
    if gate is None or gate.restarts is None or epoch_of(window)[1] != (1,):
        return False
    if window.dropped and not gate.restarts:
        return False
    if not _same_step(moment) or getattr(moment.last[Kind.STEP].gate, "restarts", True) is None:
        return False  # it was another step that came early, or nobody knows that its gate was open
    before, now = window.worth, worth(window)  # windows that are meant to grow are divided by what each of them holds
    return before is None or now is None or not (isclose(before, 1) and isclose(now, 1))


def in_the_first_epoch(moment: Moment) -> bool:
    """Whether no epoch has ended yet."""
    return len(moment.ledger.window.lengths) == 1


def not_on_purpose(moment: Moment) -> bool:
    """Whether an erasure that drops a tail was not written for that, in code that has windows."""
    return "discards" not in moment.event.detail and _of_a_length(moment.ledger.window.gate)


def left_by_an_index(moment: Moment) -> bool:
    """Whether the last loop over the batches has run out amid a window that is counted by its index."""
    window = moment.ledger.window
    over = window.tail > 0 or moment.name in moment.event.detail.get("over", "").split()
    counted = window.gate is not None and bool(window.gate.restarts)
    return over and counted and 0 < window.micro_steps < window.longest


def longer_than_before(moment: Moment) -> bool:
    """Whether a window with a tail of the last epoch in it is longer than every window before.

    One that grows on purpose is divided by what it holds.
    """
    window = moment.ledger.window
    return window.micro_steps > window.longest > 0 and _of_a_length(window.gate) and not _grows(window)


def _of_a_length(gate: Gate | None) -> bool:
    """Whether a gate closes windows of a length, and is not what unknown code makes of a counter: of a tail, too."""
    return gate is not None and not (gate.length == ANY_LENGTH and gate.restarts is None)


def _grows(window: Window) -> bool:
    """Whether the losses of a window are known to be divided by something else than those of the window before."""
    weight, before = worth(window), window.worth
    lengths = [length for epoch in window.lengths for length in epoch]
    if weight is None or before is None or not lengths:
        return False
    return not isclose(weight / window.micro_steps, before / lengths[-1], rel_tol=1e-6)


def tail_words(moment: Moment) -> dict[str, str]:
    """What becomes of a tail: at the end of the run only the last one is known to be lost."""
    if moment.event.kind is Kind.END and _of_several_epochs(moment.ledger.window):
        return {"what": "not stepped there: they leak into the first window of the next epoch, or are lost"}
    if moment.event.kind is Kind.END:
        return {"what": "never stepped: what they contributed is lost"}
    if moment.event.kind is Kind.ZERO_GRAD:
        return {"what": "never stepped: their gradients are erased when the next epoch begins"}
    return {"what": "not stepped: their gradients leak into the first window of the next epoch"}


def _of_several_epochs(window: Window) -> bool:
    """Whether an epoch was over before the last one, or a window is as much longer as one that was seen to end so."""
    return len(window.lengths) > 2 or (window.longest - window.first == window.micro_steps and not window.tail)


def takes_out_a_scale(moment: Moment) -> bool:
    """Whether gradients are divided by a symbol that their loss was multiplied by, or by a scale that it carried."""
    event, ledger = moment.event, moment.ledger
    return bool(event.factors & ledger.factors) or "scale" in event.detail or carried(ledger, event.weight) is not None


def unchecked_scale(moment: Moment) -> bool:
    """Whether a loss scale by hand was taken out of the gradients, and nothing decides by what they are then."""
    divided, scale = moment.last.get(Kind.DIVIDE), moment.ledger.unscaled_by
    if divided is None or scale is None or "unchecked" not in divided.detail:
        return False
    return "scal" in scale.lower() or scale[0].isdigit()


def after_a_backward(moment: Moment) -> bool:
    """Whether anything was back-propagated so far: a run that only measures, or profiles, has nothing to clip."""
    return Kind.BACKWARD in moment.last


def leads_again(moment: Moment) -> bool:
    """Whether the scheduler's step that came before the first optimizer step is the one that happens now."""
    return moment.cadence.first == moment.event.step_of_program


def losing_again(moment: Moment) -> bool:
    """Whether part of this window was erased, and of the one before it: one batch that is skipped does not count."""
    window = moment.ledger.window
    return window.losing > 0 and loses(window) and erased_regardless(moment)


def erased_regardless(moment: Moment) -> bool:
    """Whether what was erased last was not thrown away on purpose: for numbers that are not finite, or once the norm of
    what the backward had made was found too large."""
    erased, backward = (moment.last.get(kind, moment.event).detail for kind in (Kind.ZERO_GRAD, Kind.BACKWARD))
    too_large = "large" in erased and "large" not in backward
    return not too_large and ("finite" not in erased or "finite" in moment.event.detail)


def left_over_again(moment: Moment) -> bool:
    """Whether a run in which no epoch was seen to end stops amid a window, and did so before.

    Then a longer window holds such a rest of an earlier epoch, or as much was erased.
    """
    window = moment.ledger.window
    left = window.micro_steps
    if window.tail or window.gate is None or not 0 < left < window.first:
        return False
    return window.longest - window.first == left or (window.longest == window.first and window.skipped == left)


def short_but_divided_by_the_long(moment: Moment) -> bool:
    """Whether a window is shorter than the longest, by whose length its losses are divided."""
    return short_of_its_divisor(moment.ledger.window)


def scaled_loss(moment: Moment) -> bool:
    """Whether the loss that is back-propagated carries the scaler's scale."""
    return moment.event.scaled is True


def scaled_after_unscaled(moment: Moment) -> bool:
    """Whether the loss that is back-propagated carries the scaler's scale, and the one before it did not."""
    before = moment.last.get(Kind.BACKWARD)
    return scaled_loss(moment) and (before is None or before.scaled is not True)


def unscaled_loss(moment: Moment) -> bool:
    """Whether the loss that is back-propagated is known to carry no scale."""
    return moment.event.scaled is False


def below_the_scale(moment: Moment) -> bool:
    """Whether a clip's threshold does not carry the loss scale itself, as `limit * scaler.get_scale()` does.

    In a running process the threshold is a number. One that is far too large for gradients as they are, and a sensible
    one for them times the scale, was multiplied.
    """
    limit = moment.event.detail.get("limit", "")
    try:
        number, scale = float(limit), float(moment.event.detail["scale"])
    except (KeyError, ValueError):
        return "get_scale()" not in limit and "carries" not in moment.event.detail
    return not (number > _LARGE_THRESHOLD and number >= scale * _SMALL_THRESHOLD)


def threshold_words(moment: Moment) -> dict[str, str]:
    """What a threshold comes to on gradients that carry the loss scale, in numbers where both are known, and what that
    does to them."""
    clip = moment.event if moment.event.kind is Kind.CLIP else moment.last.get(Kind.CLIP, moment.event)
    try:
        effective = float(clip.detail["limit"]) / float({**clip.detail, **moment.event.detail}["scale"])
    except (KeyError, ValueError, ZeroDivisionError):
        return {"threshold": "the written one divided by the scale (1/65536 of it at the start)", **_cut(clip)}
    return {"threshold": f"{effective:.2g}", **_cut(clip)}


def _cut(clip: Event) -> dict[str, str]:
    """What a clip far below the gradients does to them: one by norm, or one of each element by itself."""
    if ELEMENTS in clip.detail:
        return {"so": "every element of a gradient that is larger is cut to that size"}
    return {"so": "nearly every gradient is shrunk to the same tiny norm"}


def runs_ahead(moment: Moment) -> bool:
    """Whether a scheduler's step moves the learning rate in a unit that is not that of its horizon, as far as known.

    A horizon that is a mere number, as in a running process, may count micro-batches until more steps than that are
    made.
    """
    cadence = moment.cadence
    if "still" in moment.event.detail or not moment.event.repeats:  # once per epoch is another matter
        return False
    return cadence.unit is not None or cadence.horizon is None or cadence.cadence_steps >= cadence.horizon


def divided_by_another(moment: Moment) -> bool:
    """Whether the weights of a window's losses show that they are divided, but not by the window's length."""
    return _odd_divisor(moment) is not None


def divisor_words(moment: Moment) -> dict[str, str]:
    """By what the losses are divided instead, and how large the gradient is."""
    found, n = _odd_divisor(moment), window_words(moment)["n"]
    if found is None:
        return {}
    what, total = found
    return {"n": n, "what": what.format(n=n), "sum": total.format(n=f"({n})" if " " in n else n)}


def _odd_divisor(moment: Moment) -> tuple[str, str] | None:
    """What the losses of a window of three or more are divided by, and to what their weights add up; None if right.

    It is what the text says, or what the total weight gives away: exact fractions, or measured.
    """
    window = moment.ledger.window
    count = window.micro_steps
    if count < 3 or window.late or (moment.event.gate is None and window.gate is None):
        return None
    known = [weight for weight in totals(window) if weight is not None]
    over = moment.last[Kind.BACKWARD].detail.get("over")
    if over is not None and not any(isclose(total, 1, rel_tol=1e-6) for total in known):
        return f"`{over}`", f"{{n}} / {over}"
    for what, due, spelled in (
        ("{n} twice", 1 / count, "1/{n}"),
        ("{n} on the last micro-step only", count - 1 + 1 / count, "{n} - 1 + 1/{n}"),
        ("a running index", sum(1 / number for number in range(1, count + 1)), "1/1 + ... + 1/{n}"),
    ):
        if any(isclose(total, due, rel_tol=1e-6) for total in known):
            return what, f"{due:.3g}" if measured(moment) else spelled
    return None
