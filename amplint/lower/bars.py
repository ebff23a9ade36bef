"""Progress bars that a program moves on by itself, where what they count to says what a schedule's horizon counts."""

from __future__ import annotations

from collections.abc import Iterator

from amplint.dialects.python import BARS
from amplint.flow import program as ir
from amplint.lower.names import last, walk


def moved(body: tuple[ir.Stmt, ...]) -> frozenset[int]:
    """The statements that move a bar on, by identity."""
    nodes = [node for statement in body for node in walk(statement)]
    bars = set(_names(nodes))
    return frozenset(id(node) for node in nodes if isinstance(node, ir.Do) and _moves(node.value, bars))


def _names(nodes: list[object]) -> Iterator[str]:
    """The names of bars that count to an end which is written there."""
    for node in nodes:
        made = node.value if isinstance(node, ir.Assign) else None
        if isinstance(node, ir.Assign) and isinstance(made, ir.Call) and last(made.func) in BARS:
            yield last(node.target)


def _moves(node: ir.Expr, bars: set[str]) -> bool:
    func = node.func if isinstance(node, ir.Call) else None
    return isinstance(func, ir.Attr) and func.name == "update" and last(func.owner) in bars
