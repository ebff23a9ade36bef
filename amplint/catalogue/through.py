"""Questions about what a framework's calls do, and what was done past them.

An event that a framework's call brings about carries in its detail `through`, the framework, and how the framework
spells its own `backward` and `clip`, where it has them; one of the user's own that counts on it carries `framework`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isclose

from amplint.catalogue.amounts import divided_alone, divisor_words
from amplint.catalogue.rule import Rule
from amplint.protocol.checks import BY_HAND
from amplint.protocol.events import ANY_LENGTH, AS_CALLED, OVERTAKEN, RUN_WHOLE, STEPS, TOO_EARLY, Event, Kind
from amplint.protocol.facts import CLIPPED_PAST, IN_A_LOOP, Fact
from amplint.protocol.ledger import Grads
from amplint.protocol.readings import WindowReading
from amplint.protocol.state import Moment
from amplint.protocol.window import totals

_FRAMEWORK = "by the framework's backward"


def words_of(rule: Rule, moment: Moment) -> dict[str, str]:
    """What the texts of a rule may quote: what the event says, the framework that the step goes through, and the rule's
    own words."""
    events = (moment.event, *(moment.last[kind] for kind in _TELLING if kind in moment.last))
    names = (event.detail.get(key) for key in ("framework", "through") for event in events)
    through = next(filter(None, names), None)
    known = {} if through is None else {"through": through}
    return {**moment.event.detail, **known, **(rule.words(moment) if rule.words else {})}


_TELLING = (Kind.STEP, Kind.BACKWARD)


def by_hand(moment: Moment) -> bool:
    """Whether the event is the user's own, and not what a framework's call does."""
    return "through" not in moment.event.detail


def crossed_by_hand(moment: Moment) -> bool:
    """Whether the step, or the update before it, is the user's own; what a framework does is its own affair. An update
    of another scaler, whose loss has only passed through on its way, does not matter to this one; nor does a scale that
    is set by hand, which is meant to be another one."""
    update = moment.last.get(Kind.UPDATE)
    if update is None or update.scaler != moment.event.scaler or BY_HAND in update.detail:
        return False
    return by_hand(moment) or "through" not in update.detail


def bypassed(kind: Kind, due: str) -> Callable[[Moment], bool]:
    """Whether a framework steps what torch did, although the framework has a call of its own for it."""

    def past(moment: Moment) -> bool:
        earlier, said = moment.last.get(kind), moment.event.detail
        if kind is Kind.BACKWARD and "plain" in said:
            return False  # as good: the outputs of the framework's model divide by themselves
        return bool(said.get(due)) and earlier is not None and "through" not in earlier.detail

    return past


def instead(moment: Moment) -> bool:
    """Whether the loss is back-propagated in a method of the user's that overrides the framework's."""
    return "stands_in" in moment.last[Kind.BACKWARD].detail


def lost_words(moment: Moment) -> dict[str, str]:
    """What a framework's own backward would have done, as the framework says it."""
    return {"lost": moment.event.detail.get("lost", _LOST), "also": ""}


def clip_words(moment: Moment) -> dict[str, str]:
    """What torch's clip misses."""
    part = "where parameters are sharded the norm is that of a part"
    meets = moment.last[Kind.CLIP].detail.get("meets")
    if meets is not None:
        return {"missed": _MEETS[meets]}
    return {
        "missed": part if without_scale(moment) else f"a loss scale, where there is one, is still in them, and {part}"
    }


_MEETS = {
    "none": "it has gathered them elsewhere, and the clip meets none",
    "earlier": "the clip meets the sums of the earlier micro-steps alone, as the framework has gathered those of the "
    "whole window elsewhere",
}
_UNSCALED = "not multiplied by the loss scale that the step takes out where it has one"
_LOST = "neither divided by the window nor multiplied by the loss scale that the step takes out"


def without_scale(moment: Moment) -> bool:
    """Whether the gradients carry no loss scale."""
    return moment.ledger.grads not in (Grads.SCALED, Grads.MIXED)


def divided_by_both(moment: Moment) -> bool:
    """Whether the losses of a window, back-propagated by a framework, are divided by the window twice."""
    window, backward = moment.ledger.window, moment.last.get(Kind.BACKWARD)
    count = window.micro_steps
    if count < 2 or window.late or backward is None or not (_may_divide(backward) or "plain" in moment.event.detail):
        return False
    if count == 2:  # 1/2 may be meant, as the weight of a loss; two divisors are seen in a run alone
        return _seen_twice(moment)
    return any(weight is not None and isclose(weight, 1 / count, rel_tol=1e-6) for weight in totals(window))


def divided_again(moment: Moment) -> bool:
    """Whether a loss that a framework divides by its window, as it is back-propagated, was divided by it before."""
    return "twice" in moment.event.detail and _may_divide(moment.event)


def _may_divide(backward: Event) -> bool:
    """Whether a framework back-propagates, and is not known to take the loss as it is."""
    return "through" in backward.detail and "undivided" not in backward.detail


def _seen_twice(moment: Moment) -> bool:
    """Whether every loss of a window was divided by its length once and once more, as measured."""
    reading = moment.event.reading
    main = reading.main if isinstance(reading, WindowReading) else None
    if main is None or len(main.divisors) != moment.ledger.window.micro_steps:
        return False
    return all(divisors.count(float(len(main.divisors))) == 2 for divisors in main.divisors)


def alone_outside(moment: Moment) -> bool:
    """Whether a loss that the framework divided by the window is stepped alone, outside the window's context."""
    backward = moment.last.get(Kind.BACKWARD)
    return divided_alone(moment) and backward is not None and "outside" in backward.detail


def context_words(moment: Moment) -> dict[str, str]:
    """The context that was not entered."""
    return {"context": moment.last[Kind.BACKWARD].detail["outside"]}


def within_a_scale(moment: Moment) -> bool:
    """Whether the event is in a block at the end of which a library takes out the scale."""
    return "within" in moment.event.detail


def perhaps_scaled(moment: Moment) -> bool:
    """Whether gradients carry a scale only if a setting says so that is made elsewhere."""
    backward = moment.last.get(Kind.BACKWARD)
    return backward is not None and "perhaps" in backward.detail


def may_carry_none(moment: Moment) -> bool:
    """Whether the gradients carry no loss scale, or one that only a setting made elsewhere asks for."""
    return without_scale(moment) or perhaps_scaled(moment)


def checked_elsewhere(moment: Moment) -> bool:
    """Whether the framework's step takes the loss scale out and leaves it to its clip to look for an overflow."""
    return "checks" in moment.event.detail


def unchecked_words(moment: Moment) -> dict[str, str]:
    """Whose scale is taken out of the gradients, and how an overflow would be noticed."""
    said = moment.event.detail
    if "checks" in said:
        what = f"in float16 the gradients carry a loss scale, and an overflow is looked for {said['checks']}"
        return {"what": f"{what}, which is not called", "remedy": f"call `{said['clip']}` before each step"}
    what = "gradients carry a loss scale by hand, which is divided out again, and nobody looks whether they are finite"
    return {"what": what, "remedy": "skip the step when a gradient is not finite, or use `torch.amp.GradScaler`"}


def gated_by_hand(moment: Moment) -> bool:
    """Whether a step that the framework takes on every N-th micro-step is asked for only on every N-th of them."""
    window, gate = moment.event.detail.get("window"), moment.event.gate
    return window is not None and gate is not None and (window.isdecimal() or window == gate.length)


def counted_twice(moment: Moment) -> bool:
    """Whether a step that a framework takes on every N-th call was made of several times N micro-steps, under a gate
    of the user's that counts them too."""
    calls, gate = moment.event.detail.get("calls", ""), moment.event.gate
    if gate is None or gate.length is None or not calls.isdecimal() or int(calls) < 2:
        return False
    found = _micro_steps(moment)
    return found > int(calls) and found % int(calls) == 0


def windows_added(moment: Moment) -> bool:
    """Whether a step that the user gates is made of several windows that a framework has run whole, each of which it
    has divided by the length of one, and holds all of them: as measured, or as the framework is known to do."""
    if moment.event.gate is None or "held" not in moment.event.detail:
        return False
    together, times = moment.ledger.window.micro_steps, _windows_in(moment)
    known = [weight for weight in totals(moment.ledger.window) if weight is not None]
    return 1 < times < together and any(isclose(weight, times, rel_tol=1e-6) for weight in known)


def _windows_in(moment: Moment) -> int:
    """How many windows that a framework has run whole are in the present one; 0 where that is not certain."""
    length, together = _whole(moment), moment.ledger.window.micro_steps
    if length.isdecimal():
        times, rest = divmod(together, int(length) or 1)
        return 0 if rest else times
    weights = [weight for weight in totals(moment.ledger.window) if weight is not None]
    times = round(weights[0]) if length and moment.event.detail["held"] == AS_CALLED and weights else 0
    return times if times and not together % times else 0


def _whole(moment: Moment) -> str:
    """The micro-steps of the window that a framework has run whole, as they are written; empty if none has."""
    backward = moment.last.get(Kind.BACKWARD)
    return backward.detail.get(RUN_WHOLE, "") if backward is not None else ""


def _micro_steps(moment: Moment) -> int:
    """The micro-steps since the last step, with those whose gradients were lost."""
    return moment.ledger.window.micro_steps + moment.ledger.window.lost


def moved_twice(moment: Moment) -> bool:
    """Whether the user steps a schedule that a framework has moved on by itself just before."""
    before = moment.last.get(Kind.SCHEDULER_STEP)
    return by_hand(moment) and before is not None and "moves" in before.detail


def done_again(moment: Moment) -> bool:
    """Whether something is done once more that the framework does by itself."""
    return "again" in moment.event.detail


def done_instead(moment: Moment) -> bool:
    """Whether something is called in place of the framework's own step, which is the one that counts micro-steps."""
    return "instead" in moment.event.detail


def asked_words(moment: Moment) -> dict[str, str]:
    """What is wrong with a step that is asked of a framework."""
    said = moment.event.detail
    n, often = said.get("window", ""), said.get("window", "")
    if moment.event.kind is Kind.SCHEDULER_STEP:
        said = {"again": "the schedule's step", "by": moment.last[Kind.SCHEDULER_STEP].detail["moves"]}
    if moment.event.kind in STEPS and "calls" not in said:
        return _added_words(moment)
    if moment.event.kind in STEPS:
        n = said["calls"]
        often = str(_micro_steps(moment) // int(n))
    step = f"`{said['step']}`" if "step" in said else "the framework"
    if "again" in said:
        by = said.get("by", step)
        return {"what": f"{said['again']} is taken by {by} already: it is taken twice", "remedy": f"leave it to {by}"}
    if "instead" in said:
        what = f"`{said['instead']}` is called in place of {step}: it never gets to the end of its window"
        return {"what": f"{what} of {n}, and nothing is reduced over the ranks", "remedy": f"call {step} instead"}
    whole = f"it steps once in {n} x {often} of them"
    what = f"{step} steps once in {n} calls: called once in {often} micro-steps, {whole}"
    return {"what": what, "remedy": "call it on every micro-step"}


def _added_words(moment: Moment) -> dict[str, str]:
    """What comes of several windows in one step, each of which was divided by the length of one."""
    whole, times, gate = _whole(moment), str(_windows_in(moment)), moment.event.gate
    if moment.event.detail["held"] == AS_CALLED:
        times = gate.length if gate is not None and gate.length not in (None, ANY_LENGTH) else "several"
    what = f"the framework runs windows of {whole} micro-steps, each divided by {whole}"
    return {
        "what": f"{what}: stepped once in {times} of them, the gradient is {times} times that of the equivalent batch",
        "remedy": "step after each of them, or have it run as many micro-batches at once",
    }


def twice_words(moment: Moment) -> dict[str, str]:
    """By what the losses are divided twice, and how large the gradient is."""
    event = moment.event if moment.event.kind is Kind.BACKWARD else moment.last[Kind.BACKWARD]
    said = event.detail
    n = said.get("twice") or said.get("divisor", "2" if _seen_twice(moment) else "N")
    since = {"begins": said["begins"]} if "begins" in said else {}
    return {"n": n, "sum": f"1 / {n}", "again": _FRAMEWORK, **since, **divisor_words(moment)}


def divided_before_an_engine(moment: Moment) -> bool:
    """Whether a divided loss goes through a framework whose window is not known, and every micro-step asks for a step.

    If the framework's window is that of the division the loss is divided twice, and if it is 1 every micro-step steps.
    """
    backward = moment.last.get(Kind.BACKWARD)
    return divided_alone(moment) and backward is not None and "window" in backward.detail


def divided_in_a_loop(fact: Fact) -> dict[str, str] | None:
    """What is wrong with a loss that is divided by the window by which a framework's own loop divides it."""
    if fact.used != IN_A_LOOP or fact.called != "divided":
        return None
    again = str(fact.arguments.get("again", _FRAMEWORK))
    return {"n": f"`{fact.arguments['window']}`", "sum": f"1 / `{fact.arguments['window']}`", "again": again}


def backward_in_a_loop(fact: Fact) -> dict[str, str] | None:
    """What is due where a loss is back-propagated in a method that a framework's own loop calls."""
    if fact.used != IN_A_LOOP or fact.called != "backward":
        return None
    said = {"backward": str(fact.arguments["instead"])}
    if fact.arguments.get("divided") is True:
        return said | {"lost": _UNSCALED, "also": "; leave the division out where that divides by the window itself"}
    return said | {"lost": _LOST, "also": ""}


def clipped_in_a_loop(fact: Fact) -> dict[str, str] | None:
    """The clip in a method that only returns the loss: a framework's own loop back-propagates it afterwards."""
    return {**_UNCLIPPED} if fact.used == IN_A_LOOP and fact.called == "clipped" else None


def clipped_past_a_loop(fact: Fact) -> dict[str, str] | None:
    """The clip of torch's of gradients that carry the loss scale which a framework's own loop takes out later."""
    if fact.used != IN_A_LOOP or fact.called != CLIPPED_PAST:
        return None
    return {"clip": str(fact.arguments["clip"]), "missed": "the loss scale is still in them"}


def clipped_early_in_a_loop(fact: Fact) -> dict[str, str] | None:
    """The clip in a method that has gradients made for one micro-batch: a framework's own loop counts the window."""
    return {} if fact.used == IN_A_LOOP and fact.called == "clipped early" else None


_UNCLIPPED = {
    "then": "the new gradients are stepped unclipped",
    "cure": "clip between the backward and the optimizer's step",
}


def overtaken(moment: Moment) -> bool:
    """Whether what is made after a clip is clipped by another one before it is stepped with."""
    return OVERTAKEN in moment.event.detail


def too_early(moment: Moment) -> bool:
    """Whether what is clipped takes part in the next backward, and took none in the last one."""
    return TOO_EARLY in moment.event.detail


def overtaken_words(moment: Moment) -> dict[str, str]:
    """What becomes of the gradients that are made after a clip: another one may clip them."""
    if not overtaken(moment):
        return _UNCLIPPED
    return {
        "through": "",
        "then": "changes nothing that is stepped: the new gradients are clipped after their backward",
        "cure": "leave it out; the clip between the backward and the optimizer's step is the one that counts",
    }


def stepped_in_a_loop(fact: Fact) -> dict[str, str] | None:
    """What is wrong with a step of something that a framework's own loop steps."""
    if fact.used != IN_A_LOOP or fact.called != "step":
        return None
    what, by = fact.arguments["what"], fact.arguments["by"]
    return {"what": f"{what} is stepped by {by} already: it is stepped twice", "remedy": f"leave it to {by}"}
