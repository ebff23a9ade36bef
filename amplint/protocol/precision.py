"""Under which precision something ran: what autocast made of it, as far as that is known."""

from __future__ import annotations

from enum import Enum


class Precision(Enum):
    """What autocast makes of the operations that it knows. `UNKNOWN`: whether it is on is not known either."""

    __hash__ = object.__hash__  # members are compared by identity; Enum hashes their names in Python

    OFF = "full precision"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    LOWERED = "a lower precision, which is not known"
    UNKNOWN = "not known"


LOWER = frozenset({Precision.FLOAT16, Precision.BFLOAT16, Precision.LOWERED})
"""Autocast is on."""


BANNED = frozenset({"BCELoss", "binary_cross_entropy"})
"""The criteria that raise under the autocast of CUDA, whatever they are given."""


MISSES_FLOAT16 = "misses float16"
"""The detail of what a scaler does that is never on in float16, by the comparison that switches it."""

OFF_BY = "off"
"""The detail of a backward: the comparison by which its scaler is off though its forward may run in float16."""

SCALES_ELSEWHERE = "scales elsewhere"
"""The detail of a backward from float16 without a loss scale, in a program that has a scaler."""


def together(first: Precision, second: Precision) -> Precision:
    """The precision of two things as one: what both have, and nothing is known when they differ."""
    if first is second:
        return first
    return Precision.LOWERED if first in LOWER and second in LOWER else Precision.UNKNOWN
