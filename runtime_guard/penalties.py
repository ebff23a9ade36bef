"""Gradients of a scaled loss, asked for by `autograd.grad`, on their way into a loss.

What makes such a gradient is marked in the graph, where `create_graph` lets it be back-propagated. A loss whose graph
leads to a mark is a penalty on scaled gradients, unless the scale, or a number that may be it, is divided out on the
way: before the norm or after it. A quotient of two such gradients, a direction for one, does not feel the scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isclose, log
from typing import Any

import torch
from torch import Tensor

from amplint.protocol.events import Kind
from runtime_guard.kept import constant, saved
from runtime_guard.loss_graph import NODES_OF_A_GRAPH, scale_at
from runtime_guard.recorder import Recorder, Stack
from runtime_guard.scaled import metadata_of, scaler_of

LOOKS = 4
_MARK = "runtime_guard.penalty"
_FACTORS = {"MulBackward0": ("other", "self"), "DivBackward0": ("other",)}


@dataclass(frozen=True)
class Asked:
    """Where gradients of a scaled loss are asked for, and the scale, if the host knows it."""

    place: Stack
    scale: float | None


class Penalties:
    """The gradients of scaled losses that somebody has asked for: the next few losses may hold them."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._looks = 0

    def asks(self, args: Any) -> Asked | None:
        """Where gradients are asked for, and under which scale; None where they are not those of a scaled loss, or
        cannot be back-propagated."""
        roots = [root for root in args[0] if isinstance(root, Tensor)]
        if len(args) < 4 or not args[3] or scaler_of(roots) is None or _transformed() or not all(map(_ones, args[1])):
            return None
        scales = [scale_at(root.grad_fn)[1] for root in roots if root.grad_fn is not None]
        return Asked(self._recorder.sites.stack(), next((scale for scale in scales if scale is not None), None))

    def given(self, asked: Asked, gradients: Iterable[Any]) -> None:
        """Marks what was given."""
        for gradient in gradients:
            if isinstance(gradient, Tensor) and gradient.grad_fn is not None:
                metadata_of(gradient.grad_fn)[_MARK] = asked
                self._looks = LOOKS

    def look(self, roots: Sequence[Tensor]) -> None:
        """An event for each place whose gradients go into a loss as they are."""
        if not self._looks:
            return
        self._looks -= 1
        for place in dict.fromkeys(_scaled_still(roots)):
            self._recorder.feed(Kind.PENALTY, stack=place)


def _scaled_still(roots: Sequence[Tensor]) -> Iterator[Stack]:
    """The places of the marks that a way without the scale leads to."""
    waiting: list[tuple[Any, tuple[float | None, ...]]] = [(root.grad_fn, ()) for root in roots if root.grad_fn]
    seen = set(waiting)
    while waiting and len(seen) < NODES_OF_A_GRAPH:
        node, factors = waiting.pop()
        asked: Asked | None = metadata_of(node).get(_MARK)
        if asked is not None:
            if not any(_may_be(factor, asked.scale) for factor in factors):
                yield asked.place
            continue
        if node.name() == "DivBackward0" and all(_marked(inner) for inner, _ in node.next_functions):
            continue
        factors = tuple(dict.fromkeys((*factors, *_factors_of(node))))
        below = {(inner, factors) for inner, _ in node.next_functions if inner is not None} - seen
        seen |= below
        waiting += below


def _marked(root: Any) -> bool:
    """Whether a part of a loss is made of such gradients: a quotient of two such parts feels no scale."""
    waiting, seen = [root], {root}
    while waiting and len(seen) < NODES_OF_A_GRAPH:
        node = waiting.pop()
        if node is None:
            continue
        if metadata_of(node).get(_MARK) is not None:
            return True
        below = {inner for inner, _ in node.next_functions} - seen
        seen |= below
        waiting += below
    return False


def _factors_of(node: Any) -> Iterator[float | None]:
    """The single numbers that a node multiplies or divides by, None for one that the host does not know."""
    if scale_at(node)[0]:
        return
    for name in _FACTORS.get(str(node.name()), ()):
        value = saved(node, name)
        if isinstance(value, int | float) or (isinstance(value, Tensor) and value.numel() == 1):
            yield constant(node, name)


def _may_be(factor: float | None, scale: float | None) -> bool:
    """Whether a number is a power of the scale; of a scale that the host does not know, any power of two may be."""
    if factor is None:
        return True
    if factor <= 0 or factor == 1:
        return False
    power = log(factor, 2 if scale is None else scale) if scale is None or scale not in (0, 1) else 0.0
    return round(power) != 0 and isclose(power, round(power), abs_tol=1e-6)


def _transformed() -> bool:
    """Whether this runs inside of vmap or another function of functorch, where no number can be read."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def _ones(start: Tensor | None) -> bool:
    """Whether a gradient is started with ones, as far as the host can see."""
    if start is None or start.numel() == 1:
        return start is None or not start.is_cpu or float(start) == 1
    return start.is_cpu and bool(torch.equal(start.detach(), torch.ones_like(start)))
