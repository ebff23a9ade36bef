"""A loop that takes one element after the other from an iterator of its own is a loop over what that was made of.

`stream = iter(batches)`, `while True:` with `batch = next(stream)`, left at its end, is `for batch in batches:`.
"""

from __future__ import annotations

from collections.abc import Iterable

from amplint.flow import program as ir
from amplint.lower.names import walk

Body = tuple[ir.Stmt, ...]


def as_loops(body: Iterable[ir.Stmt]) -> Body:
    """The statements of a block, with such loops in the place of the others."""
    found: list[ir.Stmt] = []
    for node in body:
        loop = _loop(found[-1], node) if found and isinstance(node, ir.While) else None
        if loop is not None:
            found[-1] = loop
        else:
            found.append(node)
    return tuple(found)


def _loop(before: ir.Stmt, node: ir.While) -> ir.For | None:
    """The loop over what the statement before it makes an iterator of, None if it is not such a loop."""
    if not isinstance(before, ir.Assign) or not isinstance(before.target, ir.Name) or node.orelse:
        return None
    source, name = _argument(before.value, "iter"), before.target.name
    taken = _taken(node, name)
    if source is None or taken is None or len(getattr(before.value, "args", ())) != 1:
        return None
    target, body = taken
    others = any(isinstance(part, ir.Name) and part.name == name for one in body for part in walk(one))
    return None if others else ir.For(node.at, target, source, body, ())


def _taken(node: ir.While, stream: str) -> tuple[ir.Expr, Body] | None:
    """What each element of an iterator is bound to, and what is done with it; None if it is not taken at the head."""
    test = node.test
    if isinstance(test, ir.Compare) and test.op == "is not" and isinstance(test.left, ir.Walrus):
        drawn = _argument(test.left.value, "next")
        return (ir.Name(test.at, test.left.name), node.body) if _is(drawn, stream) and _is_none(test.right) else None
    if not isinstance(test, ir.Const) or not test.value or not node.body:
        return None
    first, *rest = node.body
    drawing = first.body[0] if isinstance(first, ir.Try) and _only_ends(first) else None
    known = isinstance(drawing, ir.Assign) and _is(_argument(drawing.value, "next"), stream)
    return (drawing.target, tuple(rest)) if isinstance(drawing, ir.Assign) and known else None


def _only_ends(node: ir.Try) -> bool:
    """Whether all that a `try` of one statement does is to leave the loop at the end of an iterator."""
    ends = all(len(body) == 1 and getattr(body[0], "how", "") == "break" for body in node.handlers)
    return ends and node.catches == {"StopIteration"} and len(node.body) == 1 and not (node.orelse or node.final)


def _argument(node: ir.Expr, called: str) -> ir.Expr | None:
    """What a builtin function is given first, None if the expression is no call of it."""
    if isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and node.func.name == called and node.args:
        return node.args[0]
    return None


def _is(node: ir.Expr | None, name: str) -> bool:
    return isinstance(node, ir.Name) and node.name == name


def _is_none(node: ir.Expr) -> bool:
    return isinstance(node, ir.Const) and node.value is None
