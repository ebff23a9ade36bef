"""What decides when the optimizer steps, where it belongs to an object that code which is not seen may change."""

from __future__ import annotations

from amplint.machine import places
from amplint.protocol.values import with_changes
from amplint.state import known_numbers
from amplint.state.run import Run
from amplint.state.values import SET, Condition, Origin, Symbol, Value


def current(run: Run, value: Value) -> Value:
    """The value; an unknown one for what belongs to an object of which a method that is not seen was called amid the
    batches. The length of a window stays what it is."""
    if isinstance(value, Condition) and _counts(run, value):
        return with_changes(value, parts=tuple(_counted(run, part) for part in value.parts))
    if not run.touched:
        return value
    if isinstance(value, Condition):
        return with_changes(value, parts=tuple(current(run, part) for part in value.parts))
    if type(value) is not Symbol or value.origin is not Origin.RUN or value.tags & SET:
        return value
    if known_numbers.window_of(run, value) is not None or not places.is_of(value.text, run.touched):
        return value
    return places.unknown(value.text)


def _counts(run: Run, value: Condition) -> bool:
    """Whether something is compared with the length of a window."""
    return len(value.parts) == 2 and any(known_numbers.window_of(run, part) is not None for part in value.parts)


def _counted(run: Run, value: Value) -> Value:
    """What is compared with a window's length, of an object that is not seen: it counts, though nobody sees how."""
    if type(value) is not Symbol or value.origin is not Origin.RUN or "." not in value.text or value.tags & SET:
        return value
    return places.unknown(value.text) if known_numbers.window_of(run, value) is None else value
