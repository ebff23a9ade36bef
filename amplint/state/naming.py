"""What a value is known as once it has a name."""

from __future__ import annotations

from hashlib import blake2s
from typing import TypeGuard

from amplint.protocol.values import with_changes
from amplint.state import counting, roles
from amplint.state.run import Run
from amplint.state.values import OPTIMIZER, Origin, Symbol, Value, last_part
from amplint.state.words import says

_OWN_SCHEDULER = says(r"^(?:\w+\.)*[A-Z]\w*(?:Sched|LR)\w*\(")
"""A scheduler of a class that is not torch's: nobody knows what its `step()` counts from."""


def is_made(value: Value) -> TypeGuard[Symbol]:
    """Whether a value is what a call returned: another object each time."""
    return isinstance(value, Symbol) and value.text.endswith(")") and not value.offset


def named(run: Run, value: Value, name: str) -> Value:
    """A value as it is known once it has a name: what a call returned is called by it, and so is a window's length.

    Its maker may have been told the window: then whatever has the name was. An optimizer is one, whatever its name.
    """
    if isinstance(value, int):
        return counting.counted(run.model, value, name)
    if isinstance(value, Symbol) and value.tags:
        if counting.TOLD in value.tags:
            run.told.add(name)
        if value.tags & OPTIMIZER:
            run.annotated[name] = "optimizer"
    if is_made(value):
        own = _OWN_SCHEDULER(value.text) and not roles.is_optimizer_class(last_part(value.text.partition("(")[0]))
        governed = value.governed or own
        return with_changes(value, text=name, governed=governed)
    if isinstance(value, Symbol) and _is_window(value, name) and any(one in value.text for one in _COMPUTED):
        return with_changes(value, text=name)
    return value


_COMPUTED = (" // ", " / ", " * ")


def _is_window(value: Symbol, name: str) -> bool:
    """Whether a number that was worked out before the loop has a name that people give the length of a window."""
    return value.origin is Origin.RUN and not value.offset and counting.names_window(name)


MOST_TEXT = 400
"""Characters of the text of a number: what a loop makes of itself twice over would double with each turn."""


def bounded(text: str) -> str:
    """A text that is no longer than that, and another one for each other text."""
    if len(text) <= MOST_TEXT:
        return text
    return f"{text[: MOST_TEXT // 4]} ... {blake2s(text.encode(errors='replace'), digest_size=8).hexdigest()}"
