"""A loss that was back-propagated and is divided beside that: the quotient stands in the user's variables.

Its graph leads to what was back-propagated, which is marked in its metadata. Variables are only read, only where a
window of undivided losses is stepped.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from types import FrameType
from typing import Any

from torch import Tensor

from runtime_guard.scaled import metadata_of

_MARK = "runtime_guard.passed"
_FACTORS = 4
"""So many factors are looked through."""


def mark_passed(node: Any) -> None:
    """Marks what was back-propagated, and what that was made of."""
    metadata_of(node)[_MARK] = True
    for inner, _ in node.next_functions:
        if inner is not None:
            metadata_of(inner)[_MARK] = True


def quotient_in(frames: Iterable[FrameType]) -> bool:
    """Whether a variable of one of the frames is a quotient of a loss that was back-propagated."""
    return any(_holds_quotient(frame) for frame in frames)


def variables(frame: FrameType) -> dict[str, Any]:
    """The present local variables of a frame, which does not keep them alive for it."""
    held = frame.f_locals
    found = dict(held)
    if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        held.clear()  # a snapshot that the frame would keep, and with it what the variables hold
    return found


def _holds_quotient(frame: FrameType) -> bool:
    return any(map(_quotient, variables(frame).values()))


def _quotient(value: Any) -> bool:
    if type(value) is not Tensor or value.dim():
        return False
    node, divided = value.grad_fn, False
    for _ in range(_FACTORS):
        if node is None or _MARK in metadata_of(node) or node.name() not in ("DivBackward0", "MulBackward0"):
            break
        divided = divided or node.name() == "DivBackward0"
        node = node.next_functions[0][0]
    return divided and node is not None and _MARK in metadata_of(node)
