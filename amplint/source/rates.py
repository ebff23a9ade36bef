"""What computes learning rates in a module: classes that derive from torch's, and functions that one is made of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from amplint.dialects.schedules import DERIVED_FROM, OF_FUNCTIONS
from amplint.source.trees import every_node, inside


def rates_of(tree: ast.Module) -> set[int]:
    """The functions and methods, by identity, that compute rates or hand out a function that does."""
    named = _handed(tree)
    functions = (node for node in every_node(tree) if isinstance(node, ast.FunctionDef) and node.name in named)
    return {id(method) for one in schedules(tree) for method in one.body} | set(map(id, functions))


def schedules(tree: ast.Module) -> list[ast.ClassDef]:
    """The classes of a module that derive from one of torch's schedulers, however far."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    derived = set(DERIVED_FROM)
    while more := {node.name for node in classes if not derived.isdisjoint(map(last, node.bases))} - derived:
        derived |= more
    return [node for node in classes if not derived.isdisjoint(map(last, node.bases))]


def last(node: ast.expr) -> str:
    """The last part of a name."""
    return getattr(node, "attr", getattr(node, "id", ""))


def _handed(tree: ast.Module) -> set[str]:
    """The names of the functions that schedules are made of, that compute a rate which is set by hand, and of what
    hands such a function out."""
    made: dict[str, set[str]] = {}
    found = set[str]()
    for node in every_node(tree):
        if isinstance(node, ast.Call) and last(node.func) in OF_FUNCTIONS:
            found |= {name for value in (*node.args[1:2], *_values(node)) for name in _functions(value)}
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                made.setdefault(last(target), set()).update(_functions(node.value))
            found |= _called(node.value) if any(map(_is_rate, node.targets)) else set()
    while more := {name for one in found for name in made.get(one, ())} - found:
        found |= more
    return found


def _is_rate(target: ast.expr) -> bool:
    """Whether the rate of an optimizer's group is set: `group["lr"]`."""
    return isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and target.slice.value == "lr"


def _called(value: ast.expr) -> set[str]:
    """The names of what a rate is computed by: the functions called in it, and the name that it is."""
    calls = {last(node.func) for node in inside(value) if isinstance(node, ast.Call)}
    return (calls | {last(value)}) - {""}


def _values(call: ast.Call) -> Iterator[ast.expr]:
    return (keyword.value for keyword in call.keywords)


def _functions(value: ast.expr) -> set[str]:
    """The names in a value that may be those of functions: its own, in a list, of what is called and handed to it."""
    if isinstance(value, (ast.List, ast.Tuple)):
        return {name for item in value.elts for name in _functions(item)}
    if isinstance(value, ast.Call):
        return {last(value.func), *map(last, value.args)} - {""}
    return {last(value)} - {""}
