"""How many micro-steps a window has, and with what weight each loss entered it.

A micro-step is one pass through the forward and backward of the step. A backward at a place that has already run in
the present micro-step begins the next one: two losses that are back-propagated one after the other belong to one
micro-step, the same loss of the next batch to another. So does a place that excludes one that has run, as the branch of
the boundary excludes the one under `no_sync`; both are one loss, whose weights are added. This holds for both halves,
and needs no knowledge of loops.

Weights are exact fractions in the static half and measured floats in the live half.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isclose

from amplint.protocol.events import STEPS, Branches, Event, Gate, Kind, Site, exclude
from amplint.protocol.values import with_changes

Place = tuple[Site, ...]
Weight = Fraction | float | None

KEPT = 64
"""So many epochs, and so many windows of each, are remembered one by one: a run may last for millions."""


@dataclass(frozen=True)
class Passed:
    """A loss that was back-propagated in a window: its place, the branches that it was last in, its total weight (None
    once one of its terms is not known), in how many micro-steps it was, and what it was divided by, as the program
    spells it, if that was the same each time and the gradients are as it made them."""

    place: Place
    branches: Branches
    weight: Weight
    micro_steps: int
    divisor: str | None = None


@dataclass(frozen=True)
class Window:
    """The window that is being filled, and the lengths of those before it.

    `micro_steps`: since the last optimizer step. `here`: the losses of the present one. `losses`: all of the step.
    `lost`: micro-steps of this epoch whose gradients were erased before any step used
    them, since the last step. `tail`: micro-steps of an earlier epoch that wait in this window. `dropped`: micro-steps
    that an epoch left behind and that were erased afterwards. `lengths`: of the completed windows, what was
    erased included, epoch by epoch.
    `zeros`: erasures since the first backward or step; `steps`: optimizer steps in all, `unzeroed` of them since the
    last erasure, and `restacked` of those came after a backward onto gradients that were already used; `stacking`: the
    last erasures in a row before which there were any such. `late`: a loss that had been back-propagated in this window
    was divided afterwards. `gate`: the gate of the last step that had one.
    `erased`: the places whose gradients were erased unused since the last step; `skipped`: how many micro-steps the
    last such erasure threw away; `under`, `erased_under`: the gates of backward passes whose losses are divided by a
    window's length, in this window and of what was erased. `losing`: the last completed windows in a row of which part
    was erased. `first` and `longest`: micro-steps of the first and of the longest completed window. `worth`: the weight
    of the last one. `averaged`: the places that took the weights into an average since the last step. `foreign`: since
    the last step or erasure, a loss has left gradients on its way to another optimizer's parameters; `own`: one of this
    optimizer alone has made some; `joined`: both. `shortened`: what has been accumulated since then was clipped.
    `unseen`: of the micro-steps, those whose gradients code that was not followed may have used: it may have stepped;
    `untold`: those of them that were erased since the last step.
    """

    micro_steps: int = 0
    here: frozenset[Place] = frozenset()
    losses: tuple[Passed, ...] = ()
    lost: int = 0
    tail: int = 0
    dropped: int = 0
    leaked: bool = False
    lengths: tuple[tuple[int, ...], ...] = ((),)
    zeros: int = 0
    steps: int = 0
    unzeroed: int = 0
    restacked: int = 0
    stacking: int = 0
    late: bool = False
    gate: Gate | None = None
    erased: frozenset[Place] = frozenset()
    under: frozenset[Site] = frozenset()
    erased_under: frozenset[Site] = frozenset()
    skipped: int = 0
    losing: int = 0
    first: int = 0
    longest: int = 0
    worth: Weight = None
    averaged: frozenset[Place] = frozenset()
    foreign: bool = False
    own: bool = False
    joined: bool = False
    shortened: bool = False
    unseen: int = 0
    untold: int = 0

    @property
    def weights(self) -> tuple[tuple[Place, Weight], ...]:
        """The total weight of each loss."""
        return tuple((loss.place, loss.weight) for loss in self.losses)


NO_WINDOW = Window()


def advance_window(before: Window, event: Event, consumed: bool) -> Window:
    """The window after one event. `consumed`: a step has already used the gradients that are there."""
    if event.kind is Kind.BACKWARD:
        return _backward(before, event, consumed)
    if event.kind in STEPS:
        return _step(before, event)
    if event.kind is Kind.ZERO_GRAD:
        return _zero(before, on_purpose="discards" in event.detail, but=int(event.detail.get("but", 0)))
    if event.kind is Kind.DIVIDE and event.weight is not None:
        return with_changes(before, losses=_weighted(before, event.weight))
    if event.kind is Kind.DIVIDE or event.kind is Kind.OPAQUE:
        kept = event.kind is Kind.DIVIDE
        return with_changes(
            before,
            losses=_weighted(before, None),
            erased=before.erased if kept else frozenset(),  # what was erased may have been put back
            erased_under=before.erased_under if kept else frozenset(),
            averaged=before.averaged if kept else frozenset(),
            foreign=kept and before.foreign,
            own=kept and before.own,
            joined=kept and before.joined,
            shortened=kept and before.shortened,
            unseen=before.unseen if kept else before.micro_steps,
        )
    if event.kind is Kind.CLIP:
        return with_changes(before, shortened=before.micro_steps > 0)
    if event.kind is Kind.PASS:
        return with_changes(before, foreign=True, joined=before.joined or before.own)
    if event.kind is Kind.AVERAGE:
        return with_changes(before, averaged=before.averaged | {event.step_of_program})
    if event.kind is Kind.LOSS_DIVIDED:
        return with_changes(before, late=before.micro_steps > 0)
    if event.kind is Kind.EPOCH_END:
        return with_changes(before, tail=before.micro_steps, lengths=(*before.lengths[1 - KEPT :], ()))
    return before


def begins_micro_step(window: Window, place: Place, branches: Branches) -> bool:
    """Whether a backward begins the next micro-step: this one has had its loss, or has none yet."""
    ran = not window.here or place in window.here
    return ran or any(loss.place in window.here for loss in _alike(window, branches))


def totals(window: Window) -> list[Weight]:
    """The total weights of the losses that every micro-step of a window had."""
    return [loss.weight for loss in window.losses if loss.micro_steps == window.micro_steps]


def _alike(window: Window, branches: Branches) -> list[Passed]:
    """The losses of a window whose places exclude one in some branches."""
    return [loss for loss in window.losses if exclude(loss.branches, branches)] if branches else []


def _weighted(window: Window, factor: Weight) -> tuple[Passed, ...]:
    """The losses of a window, all multiplied by a factor that is perhaps not known."""
    return tuple(with_changes(loss, weight=_times(loss.weight, factor), divisor=None) for loss in window.losses)


def _times(weight: Weight, factor: Weight) -> Weight:
    return None if weight is None or factor is None else weight * factor


def _plus(total: Weight, weight: Weight) -> Weight:
    return None if total is None or weight is None else total + weight


def _backward(before: Window, event: Event, consumed: bool) -> Window:
    again = begins_micro_step(before, event.step_of_program, event.branches)
    known, divisor = _known(before, event), event.detail.get("divisor")
    passed = Passed(
        known.place if known else event.step_of_program,
        event.branches,
        _plus(known.weight if known else Fraction(0), event.weight),
        known.micro_steps + 1 if known else 1,
        divisor if known is None or known.divisor == divisor else None,
    )
    return with_changes(
        before,
        micro_steps=before.micro_steps + again,
        here=frozenset({passed.place}) if again else before.here | {passed.place},
        losses=(*(loss for loss in before.losses if loss is not known), passed),
        restacked=before.restacked + (consumed and before.micro_steps == 0),
        own=before.own or event.alone,
        joined=before.joined or (before.foreign and event.alone),
        under=before.under | _under(event),
    )


def _known(before: Window, event: Event) -> Passed | None:
    """The loss of the window that a backward adds to, None if there is none yet."""
    place = event.step_of_program
    own = (loss for loss in before.losses if loss.place == place)
    return next(own, None) or next(iter(_alike(before, event.branches)), None)


def _under(event: Event) -> frozenset[Site]:
    """The gate of a backward whose loss is divided by the length of a window: on either side of it is the same one."""
    return frozenset({event.gate.site}) if event.gate is not None and "divisor" in event.detail else frozenset()


Lengths = tuple[int, ...]


def epoch_of(window: Window) -> tuple[tuple[Lengths, ...], Lengths, tuple[Lengths, ...]]:
    """The lengths of the epochs before that of the present window, of its own, and after it.

    A step that finds nothing but what the last epoch left is the flush of that one.
    """
    flush = len(window.lengths) > 1 and 0 < window.micro_steps == window.tail
    at = len(window.lengths) - (2 if flush else 1)
    return window.lengths[:at], window.lengths[at], window.lengths[at + 1 :]


def loses(window: Window) -> bool:
    """Whether part of the window was erased: gradients of a place that it holds, or all that it had."""
    stepped = frozenset(loss.place for loss in window.losses)
    alike = window.erased & stepped or window.erased_under & window.under
    return bool(window.erased) and (not stepped or bool(alike))


def short_of_its_divisor(window: Window) -> bool:
    """Whether a window of an epoch is shorter than the longest, by whose length its losses are divided: by what they
    weigh, or, where that is not known, by the name that the gate has for it. Then it is shorter than all before it, of
    which there are several: one may hold a rest of something else.
    """
    if window.gate is None or not 0 < window.micro_steps < window.longest or not epoch_of(window)[1]:
        return False
    due, named = window.micro_steps / window.longest, window.gate.length or ""
    every = [loss for loss in window.losses if loss.micro_steps == window.micro_steps]
    before = [length for lengths in window.lengths for length in lengths]
    shortest = len(before) > 1 and window.micro_steps < min(before)
    if shortest and any(loss.weight is None and loss.divisor == named for loss in every):
        return True
    return any(loss.weight is not None and isclose(loss.weight, due, rel_tol=1e-6) for loss in every)


def worth(window: Window) -> Weight:
    """The weight of the heaviest loss of a window, over all its micro-steps; None when one is not known."""
    weights = [loss.weight for loss in window.losses if loss.weight is not None]
    return max(weights) if weights and len(weights) == len(window.losses) else None


def _step(before: Window, event: Event) -> Window:
    earlier, present, later = epoch_of(before)
    longer = (*present, before.micro_steps + before.lost) if len(present) < KEPT else present
    return with_changes(
        before,
        micro_steps=0,
        here=frozenset(),
        losses=(),
        lost=0,
        tail=0,
        leaked=before.leaked or (before.tail > 0 and before.micro_steps > before.longest),
        lengths=(*earlier, longer, *later),
        steps=before.steps + 1,
        unzeroed=before.unzeroed + 1,
        late=False,
        gate=event.gate or before.gate,
        erased=frozenset(),
        under=frozenset(),
        erased_under=frozenset(),
        losing=before.losing + 1 if loses(before) else 0,
        first=before.first or before.micro_steps,
        longest=max(before.longest, before.micro_steps),
        worth=worth(before),
        averaged=frozenset(),
        foreign=False,
        own=False,
        joined=False,
        shortened=False,
        unseen=0,
        untold=0,
    )


def _zero(before: Window, on_purpose: bool, but: int) -> Window:
    """What is erased, but for so many micro-steps that are told once more. A tail that an epoch left is dropped; what
    this epoch made and no step used is lost. What code that was not followed may have used is neither."""
    dropped = 0 if on_purpose else max(before.tail - before.unseen, 0)
    lost = before.micro_steps - max(before.tail, before.unseen) - but
    erased = frozenset(loss.place for loss in before.losses)
    return with_changes(
        _emptied(before),
        dropped=before.dropped + dropped,
        lost=before.lost + lost,
        erased=before.erased | erased if lost else before.erased,
        erased_under=before.erased_under | before.under if lost else before.erased_under,
        skipped=before.micro_steps or before.skipped,
        untold=before.untold + before.unseen,
    )


def _emptied(before: Window) -> Window:
    return with_changes(
        before,
        micro_steps=0,
        here=frozenset(),
        losses=(),
        under=frozenset(),
        tail=0,
        zeros=before.zeros + bool(before.steps or before.micro_steps or before.zeros),
        unzeroed=0,
        restacked=0,
        stacking=before.stacking + 1 if before.restacked else 0,
        late=False,
        foreign=False,
        own=False,
        joined=False,
        shortened=False,
        unseen=0,
    )
