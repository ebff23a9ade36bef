"""Means over a micro-batch that a trainer's `compute_loss` adds to a loss which is normalized over the whole window.

The trainer then divides nothing by the window (`transformers/trainer.py` of 5.23, `training_step`): what is added
counts once for each micro-batch.
"""

from __future__ import annotations

from collections.abc import Mapping

from amplint.dialects.syntax import PACKAGE
from amplint.flow import program as ir
from amplint.lower.names import last
from amplint.lower.repeated_divisions import after, normalized, parts

_DEEP = 8


def added_mean(method: ir.Function) -> ir.Stmt | None:
    """The statement that adds such a mean; what a branch, a loop or a block does is not asked."""
    known: dict[str, str] = {}
    bound: dict[str, ir.Expr] = {}
    for node in method.body:
        if any(_is_mean(term, bound, _DEEP) for term in _added(node, known)):
            return node
        if not isinstance(node, (ir.Return, ir.Do)):
            known = after(node, known)
        if isinstance(node, ir.Assign) and isinstance(node.target, ir.Name):
            bound[node.target.name] = node.value
    return None


def _added(node: ir.Stmt, known: Mapping[str, str]) -> list[ir.Expr]:
    """What a statement adds to what is normalized."""
    if isinstance(node, ir.Augment):
        return [node.value] if node.op.rstrip("=") == "+" and normalized(node.target, known) else []
    values = parts(node.value) if isinstance(node, ir.Return) and node.value is not None else []
    values += [node.value] if isinstance(node, ir.Assign) else []
    return [term for value in values for term in _beside(value, known)]


def _beside(value: ir.Expr, known: Mapping[str, str]) -> list[ir.Expr]:
    if not isinstance(value, ir.Binary) or value.op != "+":
        return []
    sides = (value.left, value.right)
    inner = [term for side in sides for term in _beside(side, known)]
    return [*inner, *(other for one, other in (sides, sides[::-1]) if inner or normalized(one, known))]


def _is_mean(value: ir.Expr, bound: Mapping[str, ir.Expr], depth: int) -> bool:
    """Whether a term is a mean over all that it is made of, weighted perhaps by a number or a setting."""
    if depth == 0:
        return False
    if isinstance(value, ir.Name) and value.name in bound:
        return _is_mean(bound[value.name], bound, depth - 1)
    if isinstance(value, ir.Binary) and value.op == "*":
        sides = (value.left, value.right)
        return any(
            isinstance(one, (ir.Const, ir.Attr)) and _is_mean(other, bound, depth - 1)
            for one, other in (sides, sides[::-1])
        )
    if not isinstance(value, ir.Call) or last(value.func) != "mean" or value.keywords or value.starred:
        return False
    is_function = isinstance(value.func, ir.Attr) and last(value.func.owner) == PACKAGE
    return len(value.args) == is_function
