"""Progress bars that a program moves on by itself, where what they count to says what a schedule's horizon counts."""

from __future__ import annotations

from collections.abc import Iterator

from amplint.dialects.python import BARS
from amplint.flow import program as ir
from amplint.lower.names import last, walk

_PREPARES = frozenset({"prepare", "prepare_scheduler"})


def moved(body: tuple[ir.Stmt, ...]) -> frozenset[int]:
    """The statements that move a bar on, by identity, in a module where a framework steps what it has prepared.

    Elsewhere what the loops count is known without them.
    """
    nodes = [node for statement in body for node in walk(statement)]
    if not any(isinstance(node, ir.Call) and _is_called(node, _PREPARES) for node in nodes):
        return frozenset()
    bars = set(_names(nodes))
    return frozenset(id(node) for node in nodes if isinstance(node, ir.Do) and _moves(node.value, bars))


def _is_called(node: ir.Call, names: frozenset[str]) -> bool:
    return last(node.func) in names


def _names(nodes: list[object]) -> Iterator[str]:
    """The names of bars that count to an end which is written there."""
    for node in nodes:
        made = node.value if isinstance(node, ir.Assign) else None
        if isinstance(node, ir.Assign) and isinstance(made, ir.Call) and _is_called(made, BARS):
            yield last(node.target)


def _moves(node: ir.Expr, bars: set[str]) -> bool:
    func = node.func if isinstance(node, ir.Call) else None
    return isinstance(func, ir.Attr) and func.name == "update" and last(func.owner) in bars
