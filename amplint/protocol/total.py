"""What a running total holds: the losses that were added to it while they still carried their graphs."""

from __future__ import annotations

from dataclasses import dataclass

from amplint.protocol.events import Event, Kind
from amplint.protocol.values import with_changes


@dataclass(frozen=True)
class Total:
    """The facts about one running total.

    `held`: the most losses of earlier micro-steps that it has held at once, each with its graph. `bounded`: it begins
    anew within the loop that adds to it. `spent`: it was itself back-propagated, so that it needs the graphs.
    """

    held: int = 0
    bounded: bool = False
    spent: bool = False


NO_TOTAL = Total()


def advance_total(before: Total, event: Event) -> Total:
    """The total after one event that concerns it."""
    if event.kind is Kind.KEEP:
        held = max(before.held, int(event.detail.get("held", before.held + 1)))
        return with_changes(before, held=held, bounded=before.bounded or "bounded" in event.detail)
    return with_changes(before, spent=True) if event.kind is Kind.SPEND else before
