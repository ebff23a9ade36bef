"""The steps of optimizers of the program's own that do what torch's do: they use gradients, and leave them as they are.

One that divides gradients, reduces them over the ranks, erases them, counts its calls or leaves before its end does
more: such a step is followed as any other method.
"""

from __future__ import annotations

from amplint.dialects import vocabulary as words
from amplint.dialects.public import COLLECTING
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import binds, last, walk

_CHANGES = frozenset(
    """zero_ div div_ true_divide true_divide_ mul mul_ _foreach_zero_ _foreach_div _foreach_div_ _foreach_mul
    _foreach_mul_""".split()
)
"""What erases or weighs the gradients that it is called on, or handed."""
_SHARES = COLLECTING | {"reduce_scatter", "all_gather", "broadcast"}
_COMPOUND = (ir.If, ir.For, ir.While, ir.Try)
_GRADIENT = within(words.GRADIENTS)


def is_plain_step(node: ir.Function) -> bool:
    """Whether the `step` of an optimizer's class reads gradients, and does nothing else that a training step has."""
    parts = [part for statement in node.body for part in walk(statement)]
    reads = any(isinstance(part, ir.Attr) and part.name == "grad" for part in parts)
    early = any(isinstance(part, ir.Return) and part is not node.body[-1] for part in parts)
    return reads and not (early or _is_asked(node) or _does_more(parts, _names(parts)))


def _is_asked(node: ir.Function) -> bool:
    """Whether the step of another class is taken now and then."""
    inside = [part for one in node.body if isinstance(one, _COMPOUND) for part in walk(one)]
    return any(isinstance(part, ir.Call) and last(part.func) == "step" for part in inside)


def _names(parts: list[object]) -> set[str]:
    """The names that gradients are given."""
    assigned = [part for part in parts if isinstance(part, ir.Assign)]
    return {name for part in assigned if _chain(part.value, set()) for name in binds(part.target)}


def _chain(node: object, names: set[str]) -> bool:
    """Whether an expression is a gradient, or a view of one: `p.grad.data`, `grad.detach()`."""
    while not isinstance(node, ir.Name):
        if isinstance(node, ir.Attr) and node.name == "grad":
            return True
        if isinstance(node, (ir.Attr, ir.Item)):
            node = node.owner
        elif isinstance(node, ir.Call) and isinstance(node.func, ir.Attr):
            node = node.func.owner
        else:
            return False
    return node.name in names or _GRADIENT(node.name)


def _does_more(parts: list[object], names: set[str]) -> bool:
    for part in parts:
        if (
            isinstance(part, (ir.Assign, ir.Augment))
            and isinstance(part.target, ir.Attr)
            and part.target.name == "grad"
        ):
            return True
        if isinstance(part, ir.Binary) and (part.op == "%" or (part.op == "/" and _chain(part.left, names))):
            return True
        if isinstance(part, ir.Augment) and part.op in ("/", "*", "/=", "*=") and _chain(part.target, names):
            return True
        if isinstance(part, ir.Call) and _changes(part, names):
            return True
    return False


def _changes(call: ir.Call, names: set[str]) -> bool:
    """Whether a call weighs or erases gradients, or shares them."""
    called = last(call.func)
    handed = [call.func.owner] if isinstance(call.func, ir.Attr) else []
    return called in _SHARES or (called in _CHANGES and any(_chain(one, names) for one in (*handed, *call.args[:1])))
