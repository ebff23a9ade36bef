"""A method that is called by a name of its own, `advance = optimizer.step`, is called by its object's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from amplint.flow import program as ir
from amplint.lower.names import binds, walk, with_parts

_EVENTS = frozenset("backward step unscale_ update zero_grad".split())


def by_their_objects(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """The statements, with every call of a name that means one method of one object all the time as a call of that."""
    bound = {name: value for one in body for node in walk(one) for name, value in _named(node)}
    if not bound:
        return body
    times = Counter(name for one in body for node in walk(one) for name in _set(node))
    taken = {param.name for one in body for node in walk(one) if isinstance(node, ir.Function) for param in node.params}
    meant = {
        name: value
        for name, value in bound.items()
        if times[name] == 1 and name not in taken and times[_root(value)] <= 1
    }
    return cast("tuple[ir.Stmt, ...]", _called(body, meant)) if meant else body


def _named(node: object) -> Iterator[tuple[str, ir.Attr]]:
    """The name that a statement gives a method of an object, and the method."""
    if isinstance(node, ir.Assign) and isinstance(node.target, ir.Name) and isinstance(node.value, ir.Attr):
        if node.value.name in _EVENTS and _root(node.value):
            yield node.target.name, node.value


def _root(node: ir.Expr) -> str:
    """The first name of a dotted one; empty for anything else."""
    while isinstance(node, ir.Attr):
        node = node.owner
    return node.name if isinstance(node, ir.Name) else ""


def _set(node: object) -> Iterator[str]:
    """The names that a statement sets, once for each time."""
    if isinstance(node, ir.Assign | ir.Augment | ir.For):
        yield from binds(node.target)
    elif isinstance(node, ir.With) and node.target is not None:
        yield from binds(node.target)
    elif isinstance(node, ir.Walrus | ir.Function | ir.Class | ir.Import):
        yield node.name


def _called(part: object, meant: dict[str, ir.Attr]) -> object:
    """A node, or a tuple of such, in which the methods are called by their objects; itself where there is none."""
    made = with_parts(part, lambda one: _called(one, meant))
    if isinstance(made, ir.Call) and isinstance(made.func, ir.Name) and made.func.name in meant:
        return replace(made, func=replace(meant[made.func.name], at=made.func.at))
    return made
