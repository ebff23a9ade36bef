"""What a reduction adds up: how many elements, whether it takes their mean, and whether they are tokens.

The valid tokens of a cross entropy with `ignore_index` stand in its node (`_saved_total_weight`), a mask that the
losses were multiplied by in the node of that product. Sizes come from the graph and cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction

from runtime_guard.compiled import is_compiled, weight_inside
from runtime_guard.kept import Node, constant, saved, taken
from runtime_guard.late import Number, number
from runtime_guard.loss_graph import ONE_BY_ONE, SAME, Reduction, is_of_one_number, nll_below, origin

_NONE, _MEAN = 0, 1  # torch.nn._reduction: none, mean, sum
_LOOK = 8
_INNER_PRODUCTS = ("DotBackward", "VdotBackward", "MvBackward", "MmBackward", "BmmBackward")


@dataclass(frozen=True)
class Elements:
    """The elements of a reduction. `mass` is the sum of their own weights: their number, unless a mask says else.

    `rows` is the size of the first dimension of what was reduced. `weighted`: classes have weights of their own, so
    `count` is no number of elements. `averaged`: the sum was divided by its rows at once, as a part of the criterion.
    `shared`: each was divided by a whole number before, perhaps that of a window. `unread`: a number is on a device,
    and was not asked for.
    """

    mean: bool | None
    count: Number | None = None
    mass: Number | None = None
    rows: int | None = None
    tokens: bool = False
    weighted: bool = False
    averaged: bool = False
    shared: bool = False
    unread: bool = False

    def left_unread(self) -> Elements:
        """The same without the numbers that are on a device."""
        if not isinstance(self.count, Tensor) and not isinstance(self.mass, Tensor):
            return self
        count, mass = (None if isinstance(one, Tensor) else one for one in (self.count, self.mass))
        return replace(self, count=count, mass=mass, unread=True)


def elements_of(reduction: Reduction, look: bool) -> Elements:
    """The elements of a reduction. `look`: masks may be added up, which costs a kernel on a device."""
    found = _elements(reduction, look)
    plain = reduction.kind.startswith(("MeanBackward", "SumBackward"))
    return replace(found, shared=True) if plain and _are_divided(reduction.node) else found


def _are_divided(node: Node) -> bool:
    """Whether what a node reduces was divided by a whole number one by one."""
    waiting = [child for child, _ in node.next_functions]
    for _ in range(_LOOK):
        one = waiting.pop() if waiting else None
        name = str(one.name()) if one is not None else ""
        if one is not None and name == "DivBackward0" and (divisor := constant(one, "other")) is not None:
            return divisor >= 2 and divisor == round(divisor)
        if one is not None and (name in SAME or name in ONE_BY_ONE):
            waiting += [child for child, _ in one.next_functions]
    return False


def _elements(reduction: Reduction, look: bool) -> Elements:
    node, kind = reduction.node, reduction.kind
    children = [child for child, _ in node.next_functions if child is not None]
    first = children[0] if children else None
    if kind.startswith("NllLoss"):
        return _of_nll(node)
    if kind == "AddBackward0" and (inner := nll_below(node)) is not None:
        return _of_nll(inner)
    if kind == "DivBackward1":
        return _of_mean(saved(node, "other"), _of_several(node))
    if kind.startswith(_INNER_PRODUCTS):  # a sum of products, such as of a representation and its gradient
        return Elements(mean=False)
    if is_compiled(node):
        return Elements(mean=False, mass=weight_inside(node))
    if is_of_one_number(node):
        return Elements(mean=False)
    shape = _reduced_shape(node)
    if shape is None:
        return Elements(mean=None)
    reduced = saved(node, "reduction")
    if reduced == _MEAN or kind.startswith("MeanBackward"):
        return Elements(True, float(prod(shape)), float(prod(shape)), *_rows_of(first, shape))
    if kind.startswith("SumBackward"):
        divisors = reduction.path.divisors
        if divisors and len(shape) > 1 and divisors[-1] == shape[0] and _is_divergence(first):
            return Elements(False, float(shape[0]), float(shape[0]), shape[0], averaged=True)
        if origin(first, _averages_rows) is not None:  # are they losses of several tasks, or of samples?
            return Elements(False, rows=shape[0] if shape else 1)
        return _of_sum(first, shape, look)
    if reduced is None or reduced == _NONE:
        return Elements(mean=None)
    return Elements(False, float(prod(shape)), float(prod(shape)), shape[0] if shape else 1)


def _of_nll(node: Node) -> Elements:
    """A (log-)likelihood: the node counts the targets that are not ignored, or adds up their classes' weights."""
    inner = node.next_functions[0][0]
    shape = taken(node) or ()
    spatial = str(node.name()).startswith("NllLoss2D")
    made = saved(node, "total_weight")
    count = number(made) if isinstance(made, Tensor) and made.numel() == 1 else None
    weighted = saved(node, "weight") is not None
    rows = shape[0] if len(shape) > 1 else 1
    tokens = spatial or flattened(inner) or (isinstance(count, float) and not weighted and count < rows)
    return Elements(saved(node, "reduction") == _MEAN, count, count, rows, tokens, weighted)


def _averages_rows(node: Node) -> bool:
    """Whether a node is the mean over the first dimension of something, for each of the others."""
    dims = saved(node, "dim") if str(node.name()) == "MeanBackward1" else None
    return isinstance(dims, tuple) and 0 in dims and not node._saved_keepdim


def _is_divergence(node: Node | None) -> bool:
    """Whether what is summed is that of `kl_div`, whose `batchmean` divides it by the batch (torch 2.13,
    `torch/nn/functional.py`): `xlogy(t, t) - t * x`, or `exp(t) * (t - x)` for a logarithmic target."""
    if node is None or len(node.next_functions) != 2:
        return False
    (first, _), (second, _) = node.next_functions
    names = (str(node.name()), str(second.name()) if second is not None else "")
    return first is None and names in (("SubBackward0", "MulBackward0"), ("MulBackward0", "SubBackward0"))


def _of_mean(divisor: object, shape: tuple[int, ...] | None) -> Elements:
    count = float(divisor) if isinstance(divisor, (int, float)) else None
    return Elements(True, count, count, shape[0] if shape else None)


def _of_sum(child: Node | None, shape: tuple[int, ...], look: bool) -> Elements:
    """A sum: over all that a mask or an `ignore_index` lets through, if that may be looked at."""
    size = float(prod(shape))
    rows = shape[0] if shape else 1
    mask = _mask(child, size)
    if mask is not None:
        if not look and not mask.is_cpu:
            return Elements(False, rows=rows, unread=True)
        count, mass = number((mask != 0).sum()), number(mask.sum())
        return Elements(False, count, mass, rows, tokens=isinstance(count, float) and count < size)
    unreduced = _unreduced(child)
    target = saved(unreduced, "target") if unreduced is not None else None
    if isinstance(target, Tensor):
        tokens = len(shape) > 1 or flattened(unreduced)
        if not look and not target.is_cpu:
            return Elements(False, rows=rows, tokens=tokens, unread=True)
        count = number((target != saved(unreduced, "ignore_index")).sum())
        return Elements(False, count, count, rows, tokens=tokens or (isinstance(count, float) and count < size))
    filled = _filled(child, size)
    if filled is not None:
        if not look and not filled.is_cpu:
            return Elements(False, rows=rows, unread=True)
        count = number((~filled).sum())
        return Elements(False, count, count, rows, tokens=isinstance(count, float) and count < size)
    if isinstance(_through(child), BackwardCFunction):  # a fused loss: which of its values are of ignored tokens?
        return Elements(False, rows=rows)
    return Elements(False, size, size, rows)


def _filled(child: Node | None, size: float) -> Tensor | None:
    """Where the losses that are summed were filled with zero, if it says so for each of them."""
    node = _through(child)
    if node is None or str(node.name()) not in ("MaskedFillBackward0", "MaskedFillBackward1"):
        return None
    mask = saved(node, "mask")
    return mask if isinstance(mask, Tensor) and mask.numel() == size and mask.dtype is torch.bool else None


def _rows_of(child: Node | None, shape: tuple[int, ...]) -> tuple[int, bool]:
    """The size of the first dimension, and whether the elements are the losses of tokens."""
    unreduced = _unreduced(child)
    return shape[0] if shape else 1, unreduced is not None and (len(shape) > 1 or flattened(unreduced))


def _reduced_shape(node: Node) -> tuple[int, ...] | None:
    sizes = saved(node, "self_sym_sizes")
    if sizes is not None:
        return tuple(int(size) for size in sizes)
    return taken(node, _operand(node) or 0)


def _of_several(node: Node) -> tuple[int, ...] | None:
    """The shape of the first thing below, through signs and sums, that is more than one number."""
    for _ in range(_LOOK):
        operand = _operand(node)
        if operand is None:
            return None
        shape = taken(node, operand)
        if prod(shape or (1,)) > 1:
            return shape
        node = node.next_functions[operand][0]
    return None


def _operand(node: Node) -> int | None:
    """The first operand of a node that has a graph of its own."""
    return next((at for at, (child, _) in enumerate(node.next_functions) if child is not None), None)


def _mask(child: Node | None, size: float) -> Tensor | None:
    """The factor without a gradient in the product that is summed, if it has an element for each loss."""
    node = _through(child)
    if node is None or str(node.name()) != "MulBackward0":
        return None
    constant_sides = [
        name for name, (below, _) in zip(("self", "other"), node.next_functions, strict=True) if below is None
    ]
    value = saved(node, constant_sides[0]) if constant_sides else None
    return value if isinstance(value, Tensor) and value.numel() == size else None


def _unreduced(child: Node | None) -> Node | None:
    """The cross entropy with `reduction="none"` whose values are reduced here, if there is one."""
    node = _through(child)
    return (
        node
        if node is not None and str(node.name()).startswith("NllLoss") and saved(node, "reduction") == _NONE
        else None
    )


def _through(node: Node | None) -> Node | None:
    """A node, or what is below it behind changes of shape, dtype and sign."""
    for _ in range(_LOOK):
        if node is None or (str(node.name()) not in SAME and str(node.name()) != "NegBackward0"):
            return node
        node = node.next_functions[0][0]
    return None


def flattened(node: Node | None) -> bool:
    """Whether scores per class were made of a tensor with one more dimension: (batch, length, classes)."""
    for _ in range(_LOOK):
        if node is None:
            return False
        below = node.next_functions[0][0] if node.next_functions else None
        shape = taken(node)
        if str(node.name()).startswith(("View", "UnsafeView", "ReshapeAlias")) and shape is not None and len(shape) > 2:
            return True
        if str(node.name()) not in SAME and not str(node.name()).startswith(("LogSoftmax", "NllLoss")):
            return False
        node = below
    return False
