"""Gradients that were clipped by hand while they carried the loss scale, known by what the clip has left of them.

No call tells of `p.grad.clamp_(-c, c)` or `p.grad.mul_(c / norm)`. But what they leave does not depend on the gradients
that were there: of one window as of another, the largest value is c, or the norm is. Two windows whose gradients differ
and yet have the very same norm or largest value have met a threshold. Only gradients on the CPU that were seen to be
edited before a scaler takes the scale out are looked at, in the first windows: reading them costs nothing there.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from math import isclose, isfinite
from typing import Any, NamedTuple

import torch
from torch import Tensor

from amplint.protocol.events import Site

LOOKS = 16
_CLOSE = 1e-5
_VALUES = 64
_MEANT = 0.05
"""A threshold that is so large without the loss scale may have been multiplied by it."""
_OTHERS = frozenset({"zero_", "detach_", "requires_grad_"})


class _Left(NamedTuple):
    """What an edit has left: the norm, the largest value, and some of the values."""

    norm: float
    peak: float
    values: Tensor


class Thresholds:
    """What edits have left of the gradients of each optimizer, in its first windows."""

    def __init__(self) -> None:
        self._left: dict[str, list[_Left]] = {}

    def met(self, optimizer: Any, name: str, scale: float | None) -> float | None:
        """The threshold that an edit has cut gradients off at, without regard to the loss `scale` in them; None where
        that is not known."""
        earlier = self._left.setdefault(name, [])
        if scale is None or len(earlier) >= LOOKS or (now := _left(optimizer)) is None:
            return None
        others = [one for one in earlier if not torch.equal(one.values, now.values)]
        earlier.append(now)
        for left, limit in ((now.peak, 1), (now.norm, 0)):
            if left < _MEANT * scale and any(isclose(one[limit], left, rel_tol=_CLOSE) for one in others):
                return left
        return None


def _left(optimizer: Any) -> _Left | None:
    """What is in the gradients of an optimizer; None for such as are not plain, on a device, or not finite."""
    found = [held.grad for group in optimizer.param_groups for held in group["params"] if held.grad is not None]
    if not found or not all(type(one) is Tensor and one.is_cpu and one.layout is torch.strided for one in found):
        return None
    with torch.no_grad():
        flat = [one.detach().reshape(-1).double() for one in found if one.numel()]
        norm = float(torch.stack([one.norm() for one in flat]).norm())
        peak = max(float(one.abs().max()) for one in flat)
        return _Left(norm, peak, torch.cat([one[:_VALUES] for one in flat])) if isfinite(norm) and norm > 0 else None


def edit_in(path: str) -> Site | None:
    """The only statement of a file that edits gradients in place; None if there is none, or several."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError, RecursionError):
        return None
    found = list(_edits(tree))
    if len(found) != 1:
        return None
    node = found[0]
    return Site(path, node.lineno, node.col_offset + 1, node.end_lineno or 0, (node.end_col_offset or 0) + 1)


def _edits(tree: ast.Module) -> Iterator[ast.Call | ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr.endswith("_") and node.func.attr not in _OTHERS and _is_gradient(node.func.value):
                yield node
        elif isinstance(node, ast.AugAssign | ast.Assign):
            targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets
            dropped = isinstance(node.value, ast.Constant) and node.value.value is None
            if not dropped and any(map(_is_gradient, targets)):
                yield node


def _is_gradient(node: ast.expr) -> bool:
    """Whether an expression is `something.grad`, or its `.data`."""
    if isinstance(node, ast.Attribute) and node.attr == "data":
        node = node.value
    return isinstance(node, ast.Attribute) and node.attr == "grad"
