"""What the user calls the number that a loss was divided by: a variable of that value whose name speaks of windows.

Variables are only read, once for each place of a backward, and only where a divided loss is stepped on at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

from runtime_guard.late_division import variables

_WINDOW = re.compile(r"(?i)accum|micro_?(batch|step)|grad_?acc")
_HOLDERS = frozenset({"self", "args", "cfg", "config", "opt", "hparams", "settings"})


def divisor_in(frames: Iterable[FrameType], weight: float, length: str | None = None) -> str | None:
    """The name of a variable, or attribute of one, that counts the micro-steps of a window and is 1 / `weight`: by what
    it is called, or because a gate has this `length`."""
    if not 0 < weight <= 0.5:
        return None
    for frame in frames:
        if length is not None and (value := _valued(frame, length)) is not None and abs(value * weight - 1) < 1e-6:
            return length
        for name, value in _counts(frame):
            if abs(value * weight - 1) < 1e-6:
                return name
    return None


def _valued(frame: FrameType, name: str) -> int | None:
    """The whole number that a variable, or an attribute of one, holds; None if it holds another thing."""
    first, *parts = name.split(".")
    value = {**frame.f_globals, **variables(frame)}.get(first)
    for part in parts:
        value = getattr(value, "__dict__", {}).get(part)
    return value if type(value) is int and value > 1 else None


def _counts(frame: FrameType) -> Iterator[tuple[str, int]]:
    found = {**frame.f_globals, **variables(frame)}
    for name, value in found.items():
        if _is_count(name, value):
            yield name, value
        elif name in _HOLDERS:
            attributes: dict[str, Any] = getattr(value, "__dict__", {})
            yield from ((f"{name}.{part}", inner) for part, inner in attributes.items() if _is_count(part, inner))


def _is_count(name: str, value: object) -> bool:
    return type(value) is int and value > 1 and _WINDOW.search(name) is not None
