"""What may stand beside the backward and the steps of a training loop, where the user reads them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from amplint.protocol.events import STEPS, Event, Kind, Site

SINGLE = "1"
UNKNOWN = "unknown"


def marks(window: Iterable[Event], path: str, length: str) -> tuple[tuple[Site, str], ...]:
    """The places of a file at which a window goes back and steps, each with what is known of it there. `length` is how
    the window's length is spelled."""
    found: dict[Site, str] = {}
    for event in window:
        if event.site.path == path and length != UNKNOWN and event.kind in STEPS | {Kind.BACKWARD}:
            found[event.site] = _of_backward(event, length) if event.kind is Kind.BACKWARD else _of_step(length)
    return tuple(sorted(found.items()))


def _of_step(length: str) -> str:
    return "every micro-step" if length == SINGLE else f"every {length} micro-steps"


def _of_backward(event: Event, length: str) -> str:
    """How long the window is, and with what weight a loss is added to it, if that is known."""
    divisor, weight = event.detail.get("divisor"), event.weight
    if divisor is not None:
        told = f", weight 1 / {divisor}"
    else:
        told = f", weight {Fraction(weight).limit_denominator(1000)}" if weight is not None else ""
    return f"window of {length}{told}"
