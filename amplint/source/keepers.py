"""Classes whose methods keep what they are handed: meters and histories, which may be given a loss with its graph."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable

from amplint.source.makers import last_name
from amplint.source.trees import inside

FILLING = frozenset({"add", "append", "extend", "insert"})
"""Methods of containers that put something into them."""

_MAX_ROWS = 150
"""Rows of a class that is kept whole."""


def handed(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The methods that are handed what is called a loss, and not a number that was read from it."""
    calls = (node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    return frozenset(last_name(call.func) for call in calls if any(map(_is_loss, _given(call))))


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_loss(value: ast.expr) -> bool:
    return isinstance(value, (ast.Name, ast.Attribute)) and "loss" in last_name(value).lower()


def keeps(unit: ast.ClassDef, names: Collection[str]) -> bool:
    """Whether a class has a method of one of some names by which its objects grow."""
    if not names or (unit.end_lineno or 0) - unit.lineno > _MAX_ROWS:
        return False
    methods = (one for one in unit.body if isinstance(one, ast.FunctionDef) and one.name in names)
    return any(_is_own(target) for method in methods for node in inside(method) for target in _grown(node))


def keepers(nodes: Iterable[ast.AST], names: Collection[str]) -> set[int]:
    """The methods, by identity, of the classes that keep what a method of one of some names is handed."""
    found = (one for one in nodes if isinstance(one, ast.ClassDef) and keeps(one, names))
    return {id(method) for unit in found for method in unit.body}


def _grown(node: ast.AST) -> list[ast.expr]:
    """What a part of a method makes larger."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return [node.target]
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Add):
        return node.targets
    fills = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FILLING
    return [node.func.value] if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and fills else []


def _is_own(target: ast.expr) -> bool:
    """Whether a chain of attributes and elements begins with the object whose method it stands in."""
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        target = target.value
    return isinstance(target, ast.Name) and target.id == "self"
