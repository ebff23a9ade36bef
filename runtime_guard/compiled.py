"""What a compiled region makes of the gradient of the loss that it returns, read from the graph of its backward.

`torch.compile` leaves one node for a whole region, and what the loss was divided by in it is in no node. The backward
that AOTAutograd has traced is kept with the node's class (`_lazy_backward_info`, torch 2.13): from the gradient that it
is handed, numbers multiply and divide until a criterion is reached. Only what is known of such a criterion to be a mean
is told: of a sum, or of anything else, the weight is not known.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isclose, prod
from typing import Any
from weakref import WeakKeyDictionary

from runtime_guard.kept import Node

UNREAD = "a loss inside of a compiled region: what it weighs is not known"
_PREFIX = "CompiledFunction"
_MOST = 32
_MEAN = 1  # torch.nn._reduction
_SAME = frozenset({"_to_copy", "convert_element_type", "view", "clone", "alias", "detach", "reshape", "squeeze"})
_known: WeakKeyDictionary[type, float | None] = WeakKeyDictionary()


def is_compiled(node: Node) -> bool:
    """Whether a node stands for a whole compiled region."""
    return str(node.name()).startswith(_PREFIX)


def weight_inside(node: Node) -> float | None:
    """The weight of the mean that a compiled region returns as its only single number; None where that is not known."""
    made = getattr(node, "_forward_cls", None)
    if not isinstance(made, type):
        return None
    if made not in _known:
        _known[made] = _read(made)
    return _known[made]


def _read(made: type) -> float | None:
    kept = getattr(made, "_lazy_backward_info", None)
    traced: Any = getattr(kept, "bw_module", None)
    fetch: Callable[[], Any] | None = getattr(kept, "bw_module_fn", None)  # of a region that a cache has kept
    traced = fetch() if traced is None and fetch is not None else traced
    graph = getattr(traced, "graph", None)
    if graph is None:
        return None
    given = [one for one in graph.nodes if one.op == "placeholder" and one.name.startswith("tangents")]
    if len(given) > 1:  # of a region that a cache has kept the sizes are not known
        shapes = [_shape(one) for one in given]
        given = [] if None in shapes else [one for one, shape in zip(given, shapes, strict=True) if _is_one(shape)]
    return _followed(given[0]) if len(given) == 1 else None


def _is_one(shape: tuple[int, ...] | None) -> bool:
    return shape is not None and prod(shape) == 1


def _followed(node: Any) -> float | None:
    """What a gradient is multiplied by on its way to the only criterion that it goes to, if that takes a mean."""
    factor = 1.0
    for _ in range(_MOST):
        users = list(node.users)
        if len(users) != 1:
            return None
        user = users[0]
        step = _times(user, node)
        if step is None:
            return factor if _means(user, node) else None
        factor, node = factor * step, user
    return None


def _name(node: Any) -> str:
    """The operation of a node: `div` for `aten.div.Tensor`."""
    packet = getattr(node.target, "overloadpacket", None)
    return str(getattr(packet, "__name__", "")) if node.op == "call_function" else ""


def _times(user: Any, node: Any) -> float | None:
    """The number that an operation multiplies a single number by; None if it does something else."""
    name, args = _name(user), user.args
    other = next((arg for arg in args[1:2] if arg is not node), None)
    if name in _SAME:
        return 1.0
    if name == "neg":
        return -1.0
    if name in ("mul", "div") and args[0] is node and isinstance(other, int | float) and other:
        return float(other) if name == "mul" else 1.0 / other
    return None


def _means(user: Any, node: Any) -> bool:
    """Whether an operation is the backward of a criterion that takes the mean of all elements, and nothing else."""
    name, users = _name(user), list(user.users)
    if name.endswith("_backward"):
        return _argument(user, "reduction") == _MEAN
    if name == "expand" and len(users) == 1:
        sizes, after = user.args[1], users[0]
        whole = prod(sizes) if all(isinstance(size, int) for size in sizes) else None
        return _name(after) == "div" and after.args[0] is user and after.args[1] == whole
    if name == "div" and user.args[0] is node:
        return _counts(user.args[1]) and len(users) == 1 and _is_likelihood(users[0], user)
    return name == "mul" and _is_square(next((arg for arg in user.args if arg is not node), None))


def _counts(divisor: Any) -> bool:
    """Whether a divisor was computed in the region: a cross entropy counts its valid targets there. What the program
    hands in may be anything."""
    return getattr(divisor, "op", "") == "placeholder" and not divisor.name.startswith(("primals", "tangents"))


def _is_likelihood(chosen: Any, share: Any) -> bool:
    """Whether a share of the gradient is given to the targets that are valid, with the sign of a likelihood, as the
    decomposition of `nll_loss_backward` does (`torch/_decomp/decompositions.py`, torch 2.13)."""
    if _name(chosen) != "where" or len(chosen.args) < 3 or chosen.args[1] is not share:
        return False
    users = list(chosen.users)
    return len(users) == 1 and _name(users[0]) == "mul"


def _is_square(other: Any) -> bool:
    """Whether the other factor is the slope of the mean of squares (`mse_loss_backward` of the same file)."""
    if not hasattr(other, "target") or _name(other) != "mul":
        return False
    shape, number = _shape(other), other.args[1]
    return bool(shape) and isinstance(number, float) and isclose(number, 2 / prod(shape or (1,)), rel_tol=1e-6)


def _argument(node: Any, name: str) -> object:
    """An argument of an operation by its name."""
    if name in node.kwargs:
        return node.kwargs[name]
    names = [one.name for one in node.target._schema.arguments]
    at = names.index(name) if name in names else len(node.args)
    return node.args[at] if at < len(node.args) else None


def _shape(node: Any) -> tuple[int, ...] | None:
    """The sizes of what a node makes; None where they are not numbers."""
    shape = getattr(node.meta.get("val", node.meta.get("tensor_meta")), "shape", None)
    if shape is None or not all(isinstance(size, int) for size in shape):
        return None
    return tuple(shape)
