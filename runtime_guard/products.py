"""What the products of sampled gradients tell: by how much one is a multiple of another, and how far from it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from amplint.protocol.readings import Touch
from runtime_guard.late import Number

ALONG = 0.999
"""So much of a gradient's square is left in the direction of another that it is a multiple of."""

Touches = list[tuple[str, int, int, int]]


def factors_of(touches: Touches, product: list[list[float]]) -> list[tuple[str, int, Number]]:
    """By how much each touch has multiplied what it met, from the products of rows; NaN where it did something else,
    such as to average it with the gradients of other ranks."""
    return [
        (what, step, product[before][now] / product[before][before] if along(product, before, now) else float("nan"))
        for what, step, before, now in touches
    ]


def along(product: list[list[float]], before: int, now: int) -> bool:
    """Whether one row is a multiple of another, but for rounding."""
    both, square = product[before][now], product[before][before]
    return square > 0 and both * both >= ALONG * square * product[now][now]


def along_of(before: Tensor, now: Tensor) -> bool:
    """The same of two tensors of the host."""
    both, square = float(before @ now), float(before @ before)
    return square > 0 and both * both >= ALONG * square * float(now @ now)


def apart(touches: Touches, rows: list[Tensor]) -> list[tuple[str, int, Number]]:
    """The same from the rows themselves."""
    return [(what, step, multiple(rows[before], rows[now])) for what, step, before, now in touches]


def multiple(before: Tensor, now: Tensor) -> Tensor:
    """By how much one row is a multiple of another, as a tensor; NaN if it is none."""
    both, square = now @ before, before @ before
    return torch.where(both * both >= ALONG * square * (now @ now), both / square, float("nan"))


def added(parts: Sequence[Tensor]) -> Tensor:
    """The sum of some rows."""
    found = parts[0]
    for part in parts[1:]:
        found = found + part
    return found


def multiplier(a_r: float, r_r: float) -> float | None:
    """The gradient that was stepped, in units of the reference."""
    return a_r / r_r if r_r > 0 else None


def error(a_r: float, r_r: float, a_a: float) -> float | None:
    """How far the stepped gradient is from the reference, relative to the reference."""
    return float(max(a_a - 2 * a_r + r_r, 0.0) / r_r) ** 0.5 if r_r > 0 else None


def touched(touches: Sequence[tuple[str, int]], factors: Sequence[float]) -> tuple[Touch, ...]:
    """The touches that changed something."""
    pairs = zip(touches, factors, strict=True)
    return tuple(Touch(what, step, factor) for (what, step), factor in pairs if abs(factor - 1) > 1e-6)
