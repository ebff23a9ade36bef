"""The names that some values go by anywhere in a module, as they are bound, put into others, handed on and returned.

By name, insensitive to flow and to scope: what has a name once may be known by it everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from amplint.flow import program as ir
from amplint.lower.names import binds, last, walk

Parts = Callable[[ir.Expr], Iterable[object]]
_TAKES_IN = frozenset({"append", "add", "copy_"})


def carried(body: Iterable[ir.Stmt], is_source: Callable[[object], bool], parts: Parts) -> frozenset[str]:
    """The names of what holds a source. `parts`: the expressions of which a value is one of such a kind if any of them
    is, the value itself included."""
    nodes = [node for statement in body for node in walk(statement)]
    if not any(map(is_source, nodes)):
        return frozenset()
    functions = {node.name: node for node in nodes if isinstance(node, ir.Function)}
    functions |= {node.name: begin for node in nodes if isinstance(node, ir.Class) for begin in _begins(node)}
    found: set[str] = set()

    def holds(value: ir.Expr) -> bool:
        return any(is_source(part) or _known(part) in found for part in parts(value))

    while more := {name for node in nodes for name in _named(node, functions, holds)} - found - {""}:
        found |= more
    return frozenset(found)


def _begins(klass: ir.Class) -> Iterator[ir.Function]:
    return (node for node in klass.body if isinstance(node, ir.Function) and node.name == "__init__")


def _known(node: object) -> str | None:
    """What an expression, or the function that it calls, is known by."""
    named = node.func if isinstance(node, ir.Call) else node
    return named.name if isinstance(named, (ir.Name, ir.Attr)) else None


def _named(node: object, functions: Mapping[str, ir.Function], holds: Callable[[ir.Expr], bool]) -> Iterator[str]:
    """The names that a node gives to what holds a source, or to what returns it."""
    for target, value in _bound(node):
        if holds(value):
            yield from binds(target) | {last(target)}
    if isinstance(node, ir.Function):
        returned = (part.value for part in walk(node) if isinstance(part, ir.Return) and part.value is not None)
        if any(map(holds, returned)):
            yield node.name
    elif isinstance(node, ir.Call):
        yield from _handed(node, functions, holds)


def _handed(call: ir.Call, functions: Mapping[str, ir.Function], holds: Callable[[ir.Expr], bool]) -> Iterator[str]:
    """The parameters that what a call is given is bound to; a function that it is given too may be given any of it."""
    called = functions.get(last(call.func))
    params = [param.name for param in called.params if param.name != "self"] if called is not None else []
    given = [*zip(params, call.args, strict=False), *call.keywords]
    yield from (name for name, value in given if holds(value))
    inner = [value if isinstance(value, ir.Lambda) else functions.get(last(value)) for value in call.args]
    if any(one is not None for one in inner) and any(map(holds, call.args)):
        yield from (param.name for one in inner if one is not None for param in one.params)


def _bound(node: object) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """What a node binds to what, or puts into what."""
    if isinstance(node, ir.Assign):
        yield from _pairs(node.target, node.value)
    elif isinstance(node, (ir.For, ir.Comprehension)):
        yield node.target, node.source
    elif isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and node.func.name in _TAKES_IN:
        yield from ((node.func.owner, value) for value in node.args)


def _pairs(target: ir.Expr, value: ir.Expr) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """What is bound to what, one by one; what is handed through a call comes back in the order of its arguments."""
    values = value.items if isinstance(value, ir.Display) else value.args if isinstance(value, ir.Call) else ()
    if isinstance(target, ir.Display) and len(target.items) == len(values):
        yield from zip(target.items, values, strict=True)
    else:
        yield target, value
