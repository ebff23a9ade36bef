"""Questions about what a scaler has recorded of overflows when it is asked to update, or a step is due."""

from __future__ import annotations

from amplint.catalogue.through import by_hand
from amplint.protocol.checks import BY_HAND, CHECKED, Checks
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads, Stage
from amplint.protocol.precision import Precision
from amplint.protocol.state import Moment

_OVERFLOWS = frozenset({Precision.FLOAT16, Precision.LOWERED, Precision.UNKNOWN})


def found_unchecked(moment: Moment) -> bool:
    """Whether a running process has seen that there is no record of an inf check."""
    return moment.event.detail.get(CHECKED) == "no"


def unchecked(moment: Moment) -> bool:
    """Whether there is no record of an inf check, by what a run has seen or by the events before.

    By events only where a step of this optimizer went through the same scaler, or where there are no gradients that
    could have: of another one it is not known what else goes through it. Two windows of lengths that are not known may
    fill each other's gaps. What a framework does is its own affair.
    """
    event, ledger, records = moment.event, moment.ledger, moment.records
    if CHECKED in event.detail:
        return found_unchecked(moment)
    own = ledger.scaler == event.scaler or (ledger.scaler is None and ledger.grads is Grads.NONE)
    certain = own and len(records.lengths) < 2 and BY_HAND not in event.detail and by_hand(moment)
    return certain and records.checks is Checks.NONE


def regardless_of_overflow(moment: Moment) -> bool:
    """Whether gradients were unscaled, and the optimizer steps with them whatever they are: it is known that nothing
    asks for that, and the forward may overflow."""
    clip = moment.last.get(Kind.CLIP)
    raises = clip is not None and "raises" in clip.detail
    return "unchecked" in moment.event.detail and moment.ledger.forward in _OVERFLOWS and not raises


def bypassing_words(moment: Moment) -> dict[str, str]:
    """What an optimizer steps with that is not stepped by its scaler."""
    if moment.ledger.grads is Grads.PLAIN:
        return {
            "what": "on unscaled gradients whatever they are: one overflow is not skipped and makes the weights NaN"
        }
    carried = "on gradients that still carry the loss scale: the update is as many times too large, and an overflow"
    return {"what": f"{carried} is not skipped"}


def only_unscaled(moment: Moment) -> bool:
    """Whether what is stepped with was unscaled, and it is neither certain that the forward runs in float16 nor known
    that there was an overflow."""
    unsure = moment.ledger.forward is not Precision.FLOAT16 and "overflowed" not in moment.event.detail
    return moment.ledger.stage is Stage.UNSCALED and unsure
