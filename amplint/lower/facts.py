"""Facts of the text: calls of public functions that a rule may judge by their arguments alone."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator

from amplint.flow import program as ir
from amplint.lower.names import walk
from amplint.protocol.events import Site
from amplint.protocol.facts import Fact


def facts_of(path: str, body: tuple[ir.Stmt, ...]) -> Iterator[Fact]:
    """The calls of public names in a module. A name that is bound in more than one way resolves to nothing."""
    names = _imported(body)
    for statement in body:
        dropped = {id(node.value) for node in walk(statement) if isinstance(node, ir.Do)}
        for node in walk(statement):
            if isinstance(node, ir.Call) and (called := _qualified(node.func, names)) is not None:
                yield _fact(path, node, called, id(node) in dropped)


def _imported(body: tuple[ir.Stmt, ...]) -> dict[str, str]:
    """Names that imports bind, and nothing else does."""
    found: dict[str, set[str]] = {}
    for statement in body:
        for node in walk(statement):
            if isinstance(node, ir.Import):
                found.setdefault(node.name, set()).add(node.qualified)
            elif isinstance(node, (ir.Function, ir.Class)):
                found.setdefault(node.name, set()).add("")
            elif isinstance(node, (ir.Assign, ir.Augment)) and isinstance(node.target, ir.Name):
                found.setdefault(node.target.name, set()).add("")
            elif isinstance(node, ir.Param):
                found.setdefault(node.name, set()).add("")
    return {name: next(iter(bound)) for name, bound in found.items() if len(bound) == 1 and bound != {""}}


def _qualified(node: ir.Expr, names: dict[str, str]) -> str | None:
    if isinstance(node, ir.Name):
        return names.get(node.name)
    if isinstance(node, ir.Attr) and (owner := _qualified(node.owner, names)) is not None:
        return f"{owner}.{node.name}"
    return None


def _fact(path: str, node: ir.Call, called: str, dropped: bool) -> Fact:
    arguments: dict[int | str, object] = {index: _literal(arg) for index, arg in enumerate(node.args)}
    arguments |= {name: _literal(value) for name, value in node.keywords}
    return Fact(called, Site(path, *node.at), arguments, "dropped" if dropped else "used", not node.starred)


def _literal(node: ir.Expr) -> object:
    """The value of a literal, arithmetic of numbers included; None for anything else."""
    if isinstance(node, ir.Const):
        return node.value
    if isinstance(node, ir.Binary):
        left, right = _literal(node.left), _literal(node.right)
        if isinstance(left, (int, float)) and isinstance(right, (int, float)):
            return _computed(node.op, left, right)
    return None


_OPERATIONS: dict[str, Callable[[float, float], object]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": lambda left, right: float(left) ** right if abs(right) <= 64 else None,
}


def _computed(op: str, left: float, right: float) -> float | None:
    try:
        found = _OPERATIONS[op](left, right)
    except (KeyError, ArithmeticError, ValueError):
        return None
    return found if isinstance(found, (int, float)) else None
