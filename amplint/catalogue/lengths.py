"""How a message spells the length of a window: as the user does, and in numbers where a process was watched."""

from __future__ import annotations

from collections.abc import Callable

from amplint.protocol.events import ANY_LENGTH
from amplint.protocol.state import Moment
from amplint.protocol.window import Window


def length_of(moment: Moment, of: Callable[[Window], int] = lambda window: window.micro_steps) -> str:
    """How the user spells the window's length; of a process, how long it was. What is played on the model has lengths
    that nobody has written."""
    window = moment.ledger.window
    gate = moment.event.gate or window.gate
    if gate is not None and gate.length:
        return gate.length
    return str(of(window)) if measured(moment) else ANY_LENGTH


def measured(moment: Moment) -> bool:
    """Whether a process runs, so that counts and weights are real ones: what is played has exact weights."""
    window = moment.ledger.window
    weights = (window.worth, *(weight for _, weight in window.weights))
    return moment.event.reading is not None or any(isinstance(weight, float) for weight in weights)


def tail_lengths(moment: Moment) -> dict[str, str]:
    """The lengths of a tail and of a full window: in numbers where they are, else in the user's words."""
    window = moment.ledger.window
    gate = moment.event.gate or window.gate
    if not measured(moment):
        name = gate.length if gate is not None and gate.length else ANY_LENGTH
        return {"held": f"fewer than {name}", "long": name, "share": "too small"}
    held, whole = window.micro_steps, window.longest
    return {"held": f"{held} of {whole}", "long": str(whole), "share": f"{held}/{whole} of what it should be"}
