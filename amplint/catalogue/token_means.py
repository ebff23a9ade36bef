"""Questions about means over the tokens that are not ignored, as far as a program says them."""

from __future__ import annotations

from math import isclose

from amplint.protocol.events import Kind
from amplint.protocol.state import Moment
from amplint.protocol.window import totals


def token_means(moment: Moment) -> bool:
    """Whether means that leave targets out, not always as many, were averaged over the micro-steps of a window."""
    window = moment.ledger.window
    if window.micro_steps < 2 or (moment.event.gate is None and window.gate is None):
        return False
    if "ignored" not in moment.last[Kind.BACKWARD].detail:
        return False
    return any(weight is not None and isclose(weight, 1, rel_tol=1e-6) for weight in totals(window))


def token_words(moment: Moment) -> dict[str, str]:
    """What is known without a run."""
    value = moment.last.get(Kind.BACKWARD, moment.event).detail.get("ignored", "")
    return {
        "counts": f"different numbers of tokens (targets are set to {value}, which the loss ignores)",
        "how": "averaged",
        "weighs": "a token weighs more in a micro-batch that holds few of them than in one that holds many",
    }
