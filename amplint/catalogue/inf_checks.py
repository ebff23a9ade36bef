"""Questions about what a scaler has recorded of overflows when it is asked to update."""

from __future__ import annotations

from amplint.catalogue.through import by_hand
from amplint.protocol.checks import BY_HAND, CHECKED, Checks
from amplint.protocol.state import Moment


def found_unchecked(moment: Moment) -> bool:
    """Whether a running process has seen that there is no record of an inf check."""
    return moment.event.detail.get(CHECKED) == "no"


def unchecked(moment: Moment) -> bool:
    """Whether there is no record of an inf check, by what a run has seen or by the events before.

    By events only where a step of this optimizer went through the same scaler: of another one it is not known what
    else goes through it. Two windows of lengths that are not known may fill each other's gaps. What a framework does is
    its own affair.
    """
    event, ledger, records = moment.event, moment.ledger, moment.records
    if CHECKED in event.detail:
        return found_unchecked(moment)
    stepped = ledger.scaler is not None and ledger.scaler == event.scaler
    certain = stepped and len(records.lengths) < 2 and BY_HAND not in event.detail and by_hand(moment)
    return certain and records.checks is Checks.NONE
