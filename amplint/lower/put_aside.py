"""Whether a program puts gradients aside and puts them back: what it erases in between is not lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.flow import program as ir
from amplint.lower.names import last, walk

_COPIES = frozenset({"clone", "contiguous", "cpu", "cuda", "data", "detach", "float", "to", "view"})


def restores(body: Iterable[ir.Stmt]) -> bool:
    """Whether gradients are put somewhere, and others than None are set elsewhere: as gradient surgery does."""
    nodes = [node for statement in body for node in walk(statement)]
    return any(map(_is_put_back, nodes)) and any(_is_gradient(value) for node in nodes for value in _put_aside(node))


def _put_aside(node: object) -> Iterator[ir.Expr]:
    """What a statement or an expression keeps: in a container, an attribute or a list."""
    if isinstance(node, (ir.Assign, ir.Augment)) and not _is_own(node.target):
        kept = isinstance(node.target, (ir.Item, ir.Attr))
        yield from [node.value] if kept else []
        yield from node.value.items if kept and isinstance(node.value, ir.Display) else ()
    elif isinstance(node, ir.Call) and last(node.func) in ("append", "add", "extend"):
        yield from node.args
    elif isinstance(node, ir.Comprehension):
        yield node.element


def _is_put_back(node: object) -> bool:
    """`p.grad = kept`, `p.grad.copy_(kept)`."""
    if isinstance(node, ir.Assign):
        given = not (isinstance(node.value, ir.Const) and node.value.value is None)
        return _is_own(node.target) and given and not any(map(_is_own, walk(node.value)))
    return isinstance(node, ir.Call) and last(node.func) == "copy_" and _is_own(getattr(node.func, "owner", None))


def _is_gradient(node: ir.Expr) -> bool:
    """Whether a value is a gradient, or a copy."""
    while True:
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and node.func.name in _COPIES:
            node = node.func.owner
        elif isinstance(node, ir.Attr) and node.name in _COPIES:
            node = node.owner
        else:
            return _is_own(node)


def _is_own(node: object) -> bool:
    return isinstance(node, ir.Attr) and node.name == "grad"
