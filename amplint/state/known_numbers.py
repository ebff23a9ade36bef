"""What number a value of the model stands for, and the length of which window."""

from __future__ import annotations

import math
from fractions import Fraction

from amplint.state.counting import names_window
from amplint.state.counts import Count, Length
from amplint.state.run import Run
from amplint.state.values import SET, Gated, Origin, Symbol, Value

ASSUMED = frozenset({"assumed"})
"""The tag of a count of micro-steps of which nobody has seen where it begins."""

_COMPUTED = tuple(f" {one} " for one in ("+", "-", "*", "/", "//", "%", "**"))


def window_of(run: Run, value: Value) -> Length | None:
    """The window's length that a symbol stands for, None when it stands for no window."""
    if not isinstance(value, Symbol) or value.offset or value.origin is Origin.DATA or value.tags & SET:
        return None
    named = names_window(value.text) and not any(one in value.text for one in _COMPUTED)  # `a // accum` is no `accum`
    if not named and value.text not in run.model.windows:
        return None
    return Length(1 if run.forced.get(single(value.text)) else run.model.length(value), value.text)


def single(text: str) -> str:
    """The condition under which a window holds a single micro-step."""
    return f"{text} <= 1"


def number(run: Run, value: Value) -> int | Fraction | None:
    """A value as an exact number, None when it is not one that is known."""
    if isinstance(value, Symbol):  # first: whether something is a `Fraction`, an abstract class, is slow to find out
        known = value.text in run.model.counters
        return Count(run.tick + value.offset, ASSUMED) if known else window_of(run, value)
    if isinstance(value, (Gated, bool)):
        return int(value.value if isinstance(value, Gated) else value)
    if isinstance(value, (int, Fraction)):
        return value
    if isinstance(value, float):
        return Fraction(str(value)) if math.isfinite(value) else None
    return None
