"""A truth that is written as an `if`: `due = False`, `if i % n == 0: due = True` is `due = i % n == 0`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from amplint.flow import program as ir
from amplint.lower.names import reads

Body = tuple[ir.Stmt, ...]


def as_truths(body: Iterable[ir.Stmt]) -> Body:
    """The statements of a block; what an `if` does no more to than to set a name, or to return, is told in one."""
    found: list[ir.Stmt] = []
    for node in body:
        joined: ir.Stmt | None = _returned(found[-1], node) if found else None
        joined = joined or (_set_again(found[-1], node) if found and isinstance(node, ir.If) else None)
        if joined is not None:
            found[-1] = joined
        else:
            found.append((_both_ways(node) if isinstance(node, ir.If) else None) or node)
    return tuple(found)


def _both_ways(node: ir.If) -> ir.Stmt | None:
    """`if test: x = True` with `else: x = False`, or the same with returns, in one; None for any other."""
    if len(node.body) != 1 or len(node.orelse) != 1:
        return None
    yes, no = node.body[0], node.orelse[0]
    if isinstance(yes, ir.Return) and isinstance(no, ir.Return):
        test = _truth(node, yes.value, no.value)
        return replace(yes, value=test) if test is not None else None
    if isinstance(yes, ir.Assign) and isinstance(no, ir.Assign) and _same(yes.target, no.target):
        test = _truth(node, yes.value, no.value)
        return replace(yes, value=test) if test is not None else None
    return None


def _returned(before: ir.Stmt, node: ir.Stmt) -> ir.Return | None:
    """`if test: return True`, followed by `return False`."""
    if not isinstance(node, ir.Return) or not isinstance(before, ir.If) or before.orelse or len(before.body) != 1:
        return None
    (yes,) = before.body
    test = _truth(before, yes.value, node.value) if isinstance(yes, ir.Return) else None
    return replace(node, value=test) if test is not None else None


def _set_again(before: ir.Stmt, node: ir.If) -> ir.Assign | None:
    """`x = False`, or any other truth, followed by `if test: x = True`."""
    if node.orelse or len(node.body) != 1 or not isinstance(before, ir.Assign):
        return None
    (then,) = node.body
    if not isinstance(then, ir.Assign) or not _same(before.target, then.target) or _reads(node.test, before.target):
        return None
    test = _truth(node, then.value, before.value)
    if test is None and isinstance(before.value, (ir.Compare, ir.Logic)):
        test = _joined(before.value, node, then.value)
    return replace(before, value=test) if test is not None else None


def _joined(first: ir.Expr, node: ir.If, value: ir.Expr) -> ir.Expr | None:
    """A truth, unless another test sets it anew."""
    if _says(value, True):
        return ir.Logic(node.at, "or", (first, node.test))
    return ir.Logic(node.at, "and", (first, _opposite(node))) if _says(value, False) else None


def _truth(node: ir.If, yes: ir.Expr | None, no: ir.Expr | None) -> ir.Expr | None:
    """The test of an `if`, or its opposite, for what is True one way and False the other; None for anything else."""
    if _says(yes, True) and _says(no, False):
        return node.test
    return _opposite(node) if _says(yes, False) and _says(no, True) else None


def _says(node: ir.Expr | None, truth: bool) -> bool:
    return isinstance(node, ir.Const) and node.value is truth


def _opposite(node: ir.If) -> ir.Expr:
    return ir.Logic(node.at, "not", (node.test,))


def _same(one: ir.Expr, other: ir.Expr) -> bool:
    """Whether two targets are one name, or one attribute."""
    if isinstance(one, ir.Name) and isinstance(other, ir.Name):
        return one.name == other.name
    if isinstance(one, ir.Attr) and isinstance(other, ir.Attr):
        return one.name == other.name and _same(one.owner, other.owner)
    return False


def _reads(test: ir.Expr, target: ir.Expr) -> bool:
    """Whether a test asks for what a target was just set to: the name, or an attribute that is called like it."""
    return isinstance(target, (ir.Name, ir.Attr)) and target.name in reads(test)
