"""Which statements of a program are events of a training step, by what they call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.rewrites.scopes import Scope, scopes, within
from tests.rewrites.writing import Block, blocks

CLIPS = frozenset({"clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "clip_gradients"})
STEPS = frozenset({"step"})
EVENTS = CLIPS | STEPS | {"backward", "unscale_", "update", "zero_grad"}
SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign)


def called(node: ast.AST) -> set[str]:
    """The last names of everything that is called in a node, functions that are defined in it left out."""
    return {
        one.func.attr if isinstance(one.func, ast.Attribute) else one.func.id
        for one in within([node])
        if isinstance(one, ast.Call) and isinstance(one.func, (ast.Attribute, ast.Name))
    }


def is_event(statement: ast.stmt, kinds: frozenset[str] = EVENTS) -> bool:
    """Whether a simple statement calls one of the kinds."""
    return isinstance(statement, SIMPLE) and bool(called(statement) & kinds)


def places(tree: ast.Module) -> list[tuple[Scope, Block]]:
    """Every block of statements with the scope that it belongs to, class bodies left out."""
    found: list[tuple[Scope, Block]] = []
    for scope in scopes(tree):
        foreign = {
            id(block)
            for node in within(scope.body)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            for block in blocks(node)
        }
        found += [(scope, block) for block in blocks(scope) if id(block) not in foreign]
    return found


def runs(block: Block, kinds: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Where events that include one of the kinds stand in a row: from, and up to."""
    start = 0
    while start < len(block):
        stop = start
        while stop < len(block) and is_event(block[stop]):
            stop += 1
        if any(is_event(one, kinds) for one in block[start:stop]):
            yield start, stop
        start = max(stop, start + 1)


def holds(node: ast.AST, kinds: frozenset[str] = STEPS) -> bool:
    """Whether one of the kinds is called in a node."""
    return bool(called(node) & kinds)


def gates(tree: ast.Module) -> Iterator[tuple[Scope, Block, int]]:
    """Every `if` that an optimizer's step stands under: the innermost one, without `else`."""
    for scope, block in places(tree):
        for at, one in enumerate(block):
            if isinstance(one, ast.If) and not one.orelse and any(is_event(each, STEPS) for each in one.body):
                yield scope, block, at


def loops(tree: ast.Module) -> Iterator[tuple[Scope, Block, int]]:
    """Every `for` that goes back in it, inner ones last."""
    for scope, block in places(tree):
        for at, one in enumerate(block):
            if isinstance(one, ast.For) and not one.orelse and holds(one, EVENTS - {"update"}):
                yield scope, block, at
