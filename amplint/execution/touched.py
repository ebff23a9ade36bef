"""What decides when the optimizer steps, where it belongs to an object that code which is not seen may change."""

from __future__ import annotations

from amplint.execution import arithmetic, places
from amplint.execution.run import Run
from amplint.execution.values import SET, Condition, Origin, Symbol, Value
from amplint.protocol.values import with_changes


def current(run: Run, value: Value) -> Value:
    """The value; an unknown one for what belongs to an object of which a method that is not seen was called amid the
    batches. The length of a window stays what it is."""
    if not run.touched:
        return value
    if isinstance(value, Condition):
        return with_changes(value, parts=tuple(current(run, part) for part in value.parts))
    if type(value) is not Symbol or value.origin is not Origin.RUN or value.tags & SET:
        return value
    if arithmetic.window_of(run, value) is not None or not places.is_of(value.text, run.touched):
        return value
    return places.unknown(value.text)
