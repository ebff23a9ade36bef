"""Which calls return what is back-propagated by those who call them: whatever they are called, they run a forward.

By names, within a function and through what the module's own functions return, insensitive to the order of statements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from amplint.flow import program as ir
from amplint.lower.names import binds, children, last, reads, walk

Body = tuple[ir.Stmt, ...]


def forwards(bodies: Mapping[str, Body]) -> frozenset[tuple[str, ir.Span]]:
    """The calls, by file and place, whose results reach a backward of their callers."""
    frames = [(path, frame) for path, body in bodies.items() for frame in _frames("", body)]
    asked: frozenset[str] = frozenset()
    while True:
        found = [(path, call) for path, (name, nodes) in frames for call in _carried(nodes, name in asked)]
        called = frozenset(last(call.func) for _, call in found) - {""}
        if called <= asked:
            return frozenset((path, call.at) for path, call in found)
        asked |= called


def _frames(name: str, body: Iterable[object]) -> list[tuple[str, list[object]]]:
    """Each function's name and all nodes that are in it and in no function inside."""
    own, frames, stack = [], [], list(body)
    while stack:
        node = stack.pop()
        own.append(node)
        if isinstance(node, ir.Function):
            frames += _frames(node.name, node.body)
        else:
            stack += children(node)
    return [(name, own), *frames]


def _carried(nodes: list[object], returned: bool) -> list[ir.Call]:
    """The calls of one function in what is back-propagated there, or by its callers what it returns."""
    roots = [part for node in nodes if isinstance(node, ir.Call) for part in _losses(node)]
    roots += [node.value for node in nodes if returned and isinstance(node, ir.Return) and node.value is not None]
    made = [node for node in nodes if isinstance(node, (ir.Assign, ir.Augment))]
    names = {name for root in roots for name in reads(root)}
    while more := {name for node in made if binds(node.target) & names for name in reads(node.value)} - names:
        names |= more
    values = [*roots, *(node.value for node in made if binds(node.target) & names)]
    return [part for value in values for part in walk(value) if isinstance(part, ir.Call)]


def _losses(call: ir.Call) -> list[ir.Expr]:
    """What a call back-propagates or scales: `x` of `x.backward()`, `scaler.scale(x)`, `accelerator.backward(x)`."""
    if not isinstance(call.func, ir.Attr) or call.func.name not in ("backward", "scale"):
        return []
    return [*(() if call.func.name == "scale" or call.args else (call.func.owner,)), *call.args]
