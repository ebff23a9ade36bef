"""What is true of one optimizer's gradients after a sequence of events.

The machine is a product of small tables. Each table is one part of the ledger: event -> value before -> value after.
An event that a table does not mention, or a value that it does not list, leaves that part as it was, so the machine is
total. Counts (micro-steps, weights, window lengths) are not finite and live beside the tables, in `window`.

Rule 1: every fact that a rule may ask about is tracked in this folder and nowhere else.
Rule 2: nothing here knows which half feeds it, and nothing here calls anything a mistake.

`Stage` mirrors `torch.amp.grad_scaler.OptState` (torch 2.13).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cache
from math import isclose, log2
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from amplint.protocol.events import STEPS, Event, Kind, Site
from amplint.protocol.precision import Precision, together
from amplint.protocol.ranks import NO_SHARING, Sharing, Sync, Wrapper, share, share_by_hand
from amplint.protocol.values import with_changes
from amplint.protocol.window import NO_WINDOW, Window, advance_window, begins_micro_step


class Grads(Enum):
    """What `param.grad` holds."""

    __hash__ = object.__hash__  # members are compared by identity; Enum hashes their names in Python

    NONE = "no gradients"
    PLAIN = "true gradients"
    SCALED = "gradients times the loss scale"
    MIXED = "scaled and unscaled gradients in one sum"
    UNKNOWN = "not known"


class Stage(Enum):
    """Where the scaler is with this optimizer."""

    __hash__ = object.__hash__  # members are compared by identity; Enum hashes their names in Python

    READY = "not unscaled since the last update"
    UNSCALED = "unscaled"
    STEPPED = "stepped"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Ledger:
    """The facts about one optimizer.

    `clipped`: since the last backward, step or erasure. `used`: an optimizer step has consumed what `grads` holds.
    `crossed`: `grads` were made under a loss scale that `update()` may since have changed.
    `divided`: since the last backward the scaler has unscaled them.
    `missed`: since the last backward a clip went to another optimizer's parameters, which had no gradients of it.
    `fresh`: no backward and no step was seen yet.
    `led_by_clip`: the first thing that ever happened to these gradients was a clip, before any backward.
    `unscaled_by`: what the gradients were divided by after their last loss had been multiplied by the same.
    `scaler`, `maker`: the scaler that the last step went through, and where it was made. `scaler_steps`: the steps in
    a row through it.
    `forward`: under which precision the forwards ran that `grads` come from. `sharing`: what other ranks know of them.
    """

    grads: Grads = Grads.NONE
    stage: Stage = Stage.READY
    clipped: bool = False
    used: bool = False
    crossed: bool = False
    led_by_clip: bool = False
    missed: bool = False
    divided: bool = False
    fresh: bool = True
    factors: frozenset[str] = frozenset()
    unscaled_by: str | None = None
    algorithm: str | None = None
    scaler: str | None = None
    maker: tuple[Site, ...] = ()
    scaler_steps: int = 0
    forward: Precision = Precision.UNKNOWN
    sharing: Sharing = NO_SHARING
    window: Window = field(default=NO_WINDOW)


UNKNOWN = Ledger(Grads.UNKNOWN, Stage.UNKNOWN)
"""A ledger of which nothing is known."""


class Feed(Enum):
    """An event as the tables see it: its kind and, for a backward, what the loss carried."""

    __hash__ = object.__hash__  # members are compared by identity; Enum hashes their names in Python

    BACKWARD = "backward of an unscaled loss"
    SCALED_BACKWARD = "backward of a scaled loss"
    UNKNOWN_BACKWARD = "backward of a loss that may be scaled"
    UNSCALE = "unscale_"
    CLIP = "clip"
    MISSED_CLIP = "clip of another optimizer's parameters"
    STEP = "optimizer.step"
    SCALER_STEP = "scaler.step"
    UPDATE = "scaler.update"
    ZERO_GRAD = "zero_grad"
    OPAQUE = "code not followed"


_FEEDS = {
    Kind.UNSCALE: Feed.UNSCALE,
    Kind.CLIP: Feed.CLIP,
    Kind.MISSED_CLIP: Feed.MISSED_CLIP,
    Kind.STEP: Feed.STEP,
    Kind.SCALER_STEP: Feed.SCALER_STEP,
    Kind.UPDATE: Feed.UPDATE,
    Kind.ZERO_GRAD: Feed.ZERO_GRAD,
    Kind.OPAQUE: Feed.OPAQUE,
}
_BACKWARD_FEEDS = {True: Feed.SCALED_BACKWARD, False: Feed.BACKWARD, None: Feed.UNKNOWN_BACKWARD}

Table = Mapping[Feed, Mapping[Any, Any]]


def _every(kind: type[Enum], to: Enum) -> dict[Enum, Enum]:
    return dict.fromkeys(kind, to)


_UNSCALED = {Grads.SCALED: Grads.PLAIN}  # what is mixed stays mixed: its unscaled part is now too small
_STEP_PARTS: Table = {
    Feed.BACKWARD: {Grads.NONE: Grads.PLAIN, Grads.SCALED: Grads.MIXED},
    Feed.SCALED_BACKWARD: {Grads.NONE: Grads.SCALED, Grads.PLAIN: Grads.MIXED, Grads.UNKNOWN: Grads.SCALED},
    Feed.UNKNOWN_BACKWARD: _every(Grads, Grads.UNKNOWN),
    Feed.UNSCALE: _UNSCALED,
    Feed.SCALER_STEP: _UNSCALED,  # scaler.step() unscales by itself when nobody did
    Feed.ZERO_GRAD: _every(Grads, Grads.NONE),
    Feed.OPAQUE: _every(Grads, Grads.UNKNOWN),
}
_FLAG_OFF = {True: False}
_FLAG_ON = {False: True}
_RENEWING = (
    Feed.STEP,
    Feed.SCALER_STEP,
    Feed.ZERO_GRAD,
    Feed.BACKWARD,
    Feed.SCALED_BACKWARD,
    Feed.UNKNOWN_BACKWARD,
    Feed.OPAQUE,
)
"""After these the gradients are others than those that were clipped."""

TABLES: Mapping[str, Table] = MappingProxyType(
    {
        "grads": _STEP_PARTS,
        "stage": {
            Feed.UNSCALE: {Stage.READY: Stage.UNSCALED, Stage.UNKNOWN: Stage.UNSCALED},
            Feed.SCALER_STEP: _every(Stage, Stage.STEPPED),
            Feed.UPDATE: _every(Stage, Stage.READY),
            Feed.OPAQUE: _every(Stage, Stage.UNKNOWN),
        },
        "clipped": {Feed.CLIP: _FLAG_ON, **dict.fromkeys(_RENEWING, _FLAG_OFF)},
        "divided": {Feed.UNSCALE: _FLAG_ON, **dict.fromkeys(_RENEWING, _FLAG_OFF)},
        "missed": {Feed.MISSED_CLIP: _FLAG_ON, **dict.fromkeys(_RENEWING, _FLAG_OFF)},
        "used": {
            Feed.STEP: _FLAG_ON,
            Feed.SCALER_STEP: _FLAG_ON,
            Feed.ZERO_GRAD: _FLAG_OFF,
            Feed.OPAQUE: _FLAG_OFF,
        },
        "fresh": {
            Feed.BACKWARD: _FLAG_OFF,
            Feed.SCALED_BACKWARD: _FLAG_OFF,
            Feed.UNKNOWN_BACKWARD: _FLAG_OFF,
            Feed.STEP: _FLAG_OFF,
            Feed.SCALER_STEP: _FLAG_OFF,
        },
    }
)


def feed_of(event: Event) -> Feed | None:
    """The table row that an event selects; None when no table mentions it."""
    if event.kind is Kind.BACKWARD:
        return _BACKWARD_FEEDS[event.scaled]
    return _FEEDS.get(event.kind)


FINITE = ("grads", "stage", "clipped", "used", "crossed", "led_by_clip", "missed", "divided", "fresh")
"""The parts of the ledger that have a few values only."""

finite_parts = attrgetter(*FINITE)
"""Their values, in that order."""


def advance(before: Ledger, event: Event) -> Ledger:
    """The ledger after one event that concerns its optimizer. Total: every (ledger, event) has exactly one answer."""
    kind, feed = event.kind, feed_of(event)
    finite = _finite_changes(feed, finite_parts(before)) if feed is not None else {}
    if kind in _OF_FINITE:
        return with_changes(before, **finite) if finite else before
    changes: dict[str, Any] = {**finite, "window": advance_window(before.window, event, consumed=before.used)}
    if kind in _OF_FACTORS:
        changes["factors"] = _factors(before, event)
        changes["unscaled_by"] = _taken_out(before, event)
        changes["forward"] = _forward(before, event)
    if kind in _OF_SHARING:
        changes["sharing"] = _sharing(before, event)
    if kind is Kind.SCALER_STEP:
        again = event.scaler == before.scaler
        changes.update(scaler=event.scaler, maker=event.maker, scaler_steps=before.scaler_steps + 1 if again else 1)
    if kind is Kind.CREATE:
        changes.update(algorithm=event.detail.get("algorithm"), scaler=None, maker=(), scaler_steps=0)
    return with_changes(before, **changes)


_OF_FINITE = frozenset({Kind.UNSCALE, Kind.UPDATE})
"""The kinds of event that change nothing but the parts that have few values."""


@cache  # a few hundred combinations occur, and a running process asks at every event
def _finite_changes(feed: Feed, parts: tuple[Any, ...]) -> dict[str, Any]:
    """What an event changes in the parts that have few values; nothing else decides it."""
    before = Ledger(**dict(zip(FINITE, parts, strict=True)))
    changes = {}
    for part, table in TABLES.items():
        now = getattr(before, part)
        changes[part] = table.get(feed, {}).get(now, now)
    if feed in (Feed.STEP, Feed.SCALER_STEP):
        changes["used"] = before.grads is not Grads.NONE  # a step that meets none uses none
    changes["crossed"] = _crossed(before, feed)
    changes["led_by_clip"] = before.led_by_clip or (feed is Feed.CLIP and before.fresh and before.grads is Grads.NONE)
    return {part: now for part, now in changes.items() if now is not getattr(before, part)}


def _crossed(before: Ledger, feed: Feed) -> bool:
    """True of gradients that carry, or were divided by, a loss scale older than the last update()."""
    if feed is Feed.UPDATE:
        scaled = before.grads is Grads.SCALED or before.stage is Stage.UNSCALED
        return before.crossed or (scaled and before.grads is not Grads.NONE and not before.used)
    if feed in (Feed.ZERO_GRAD, Feed.STEP, Feed.SCALER_STEP, Feed.OPAQUE):
        return False
    return before.crossed


_OF_FACTORS = frozenset({Kind.BACKWARD, Kind.DIVIDE, Kind.ZERO_GRAD, Kind.OPAQUE})


def _factors(before: Ledger, event: Event) -> frozenset[str]:
    """The symbols that every back-propagated loss was multiplied by and nobody has divided out again.

    Asked of the kinds of event that change them: a backward, a division, an erasure, code that was not followed.
    """
    if event.kind is Kind.BACKWARD:
        return event.factors if before.grads is Grads.NONE or before.used else before.factors & event.factors
    if event.kind is Kind.DIVIDE:
        return before.factors - event.factors
    return frozenset()


def _taken_out(before: Ledger, event: Event) -> str | None:
    """The scale by hand that a division has taken out: a symbol, or a number that is a power of two, 128 or more.

    Asked of the same kinds of event.
    """
    if event.kind is not Kind.DIVIDE:
        return None
    symbols = sorted(event.factors & before.factors)
    if symbols:
        return symbols[0]
    number = carried(before, event.weight)
    return f"{float(number):g}" if number is not None else before.unscaled_by


def carried(ledger: Ledger, factor: Fraction | float | None) -> Fraction | float | None:
    """The loss scale by hand that a factor takes out of gradients: a power of two, 128 or more, that their losses carry
    as far as known; None if it is none. What was measured is rounded."""
    number = 1 / factor if factor else 0
    if isinstance(number, float) and number >= LEAST_SCALE and isclose(log2(number), round(log2(number)), abs_tol=1e-5):
        number = 2.0 ** round(log2(number))
    large = number >= LEAST_SCALE and log2(number).is_integer()
    held = any(weight is not None and weight * 2 > number for _, weight in ledger.window.weights)
    return number if large and held else None


LEAST_SCALE = 128
"""A number below it is hardly a loss scale."""

_OF_SHARING = frozenset({Kind.BACKWARD, Kind.REDUCE, Kind.ZERO_GRAD, Kind.OPAQUE, *STEPS})


def _sharing(before: Ledger, event: Event) -> Sharing:
    """What the ranks share of the gradients. Asked of the kinds of event that make, reduce, use or erase them."""
    if event.kind is Kind.REDUCE:
        return share_by_hand(before.sharing, before.window.micro_steps)
    if event.kind is not Kind.BACKWARD:
        return NO_SHARING
    if event.sync is Sync.UNKNOWN and event.wrapper is Wrapper.NONE and before.sharing is NO_SHARING:
        return NO_SHARING
    again = begins_micro_step(before.window, event.step_of_program, event.branches)
    return share(before.sharing, event.sync, event.wrapper, again)


def _forward(before: Ledger, event: Event) -> Precision:
    """The precision of all the forwards that the gradients come from. Asked of the same kinds of event."""
    if event.kind is Kind.BACKWARD:
        new = before.grads is Grads.NONE or before.used
        return event.forward if new else together(before.forward, event.forward)
    return before.forward if event.kind is Kind.DIVIDE else Precision.UNKNOWN
