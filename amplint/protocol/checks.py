"""Whether a scaler has looked for an overflow since its last update: without that, torch refuses to update.

`GradScaler.unscale_` and `step` record what they found for their optimizer, and `update()` without a scale of its own
takes the records of all of them and clears them; if there is none it raises (torch 2.13, `torch/amp/grad_scaler.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from amplint.protocol.events import Event, Kind
from amplint.protocol.values import with_changes


class Checks(Enum):
    """What a scaler has recorded since its last update."""

    __hash__ = object.__hash__  # members are compared by identity; Enum hashes their names in Python

    NONE = "no inf check of any optimizer"
    RECORDED = "an inf check"
    UNKNOWN = "not known"


BY_HAND = "scale"
"""The detail of an update that is given a scale: it asks for no records, and clears them."""

CHECKED = "checked"
"""The detail of an update in a running process: whether its scaler has records, "yes" or "no"."""

_RECORDS = frozenset({Kind.UNSCALE, Kind.SCALER_STEP})
OF_CHECKS = frozenset({*_RECORDS, Kind.UPDATE, Kind.OPAQUE})
"""The kinds of event that change it."""


@dataclass(frozen=True)
class Records:
    """What one scaler has recorded since its last update.

    `lengths`: how the windows are spelled under whose gates optimizers step through it, those of numbers aside.
    """

    checks: Checks = Checks.UNKNOWN
    lengths: frozenset[str] = frozenset()


NO_RECORDS = Records()


def advance_records(before: Records, event: Event) -> Records:
    """The records of a scaler after an event of these kinds that concerns it, or that may."""
    if event.kind is Kind.UPDATE:
        return with_changes(before, checks=Checks.NONE)
    if event.kind is Kind.OPAQUE:
        return with_changes(before, checks=Checks.UNKNOWN)
    length = event.gate.length if event.gate is not None else None
    known = before.lengths if length is None or length.isdecimal() else before.lengths | {length}
    return with_changes(before, checks=Checks.RECORDED, lengths=known)
