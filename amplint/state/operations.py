"""What Python's operators make of two numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction

OPERATIONS: dict[str, Callable[[int | Fraction, int | Fraction], int | Fraction | float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
COMPARISONS: dict[str, Callable[[int | Fraction, int | Fraction], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.eq,
    "is not": operator.ne,
}
