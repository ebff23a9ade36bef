"""By which other names the functions of a module are called: an attribute or a parameter that one is handed to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.flow import program as ir
from amplint.lower.names import binds, functions, last, walk

Pairs = frozenset[tuple[str, str]]
NAMELESS = "<lambda>"
"""All nameless functions of a module are one, to whoever asks what may happen when a name is called."""


def aliases_of(body: Iterable[ir.Stmt]) -> Pairs:
    """(name of a function, name by which it may be called too), both as `reaches` speaks of them: `f`, `.f`."""
    nodes = [node for statement in body for node in walk(statement)]
    own = {name.lstrip(".") for name, _ in functions(body)} - {"__init__"}
    params = {node.name: node.params for node in nodes if isinstance(node, ir.Function)}
    params |= {node.name: _constructor(node) for node in nodes if isinstance(node, ir.Class)}
    pairs = {pair for node in nodes for pair in _given(node, params)}
    found = {
        (source, alias)
        for name, other in pairs
        if name in own and name != other
        for source in (name, f".{name}")
        for alias in (other, f".{other}")
    }
    return frozenset(found | {(NAMELESS, name) for name in _called_values(nodes)})


def _called_values(nodes: list[object]) -> Iterator[str]:
    """The names of values that are called, and may be nameless functions: assigned, entered or handed over."""
    if not any(isinstance(node, ir.Lambda) for node in nodes):
        return
    bound = {name for node in nodes if isinstance(node, (ir.Assign, ir.With)) for name in binds(node.target)}
    bound |= {param.name for node in nodes if isinstance(node, (ir.Function, ir.Lambda)) for param in node.params}
    for node in nodes:
        if isinstance(node, ir.Call) and last(node.func) in bound:
            yield last(node.func) if isinstance(node.func, ir.Name) else f".{last(node.func)}"


def _constructor(node: ir.Class) -> tuple[ir.Param, ...]:
    made = (child for child in node.body if isinstance(child, ir.Function) and child.name == "__init__")
    return next((found.params[1:] for found in made), ())


def _given(node: object, params: dict[str, tuple[ir.Param, ...]]) -> Iterator[tuple[str, str]]:
    """What a statement or a call binds to which name: `self.f = g`, `f(g)`, `f(key=g)`."""
    if isinstance(node, ir.Assign) and isinstance(value := _whole(node.value), (ir.Name, ir.Attr)):
        yield from ((last(value), name) for name in binds(node.target))
    if isinstance(node, ir.Call):
        known = zip(params.get(last(node.func), ()), node.args, strict=False)
        given = [
            (name, _whole(value)) for name, value in (*((one.name, value) for one, value in known), *node.keywords)
        ]
        yield from ((last(value), name) for name, value in given if isinstance(value, (ir.Name, ir.Attr)))


def _whole(value: ir.Expr) -> ir.Expr:
    """A function, of which `functools.partial` gives some arguments."""
    made = isinstance(value, ir.Call) and last(value.func) == "partial" and value.args
    return value.args[0] if made and isinstance(value, ir.Call) else value
