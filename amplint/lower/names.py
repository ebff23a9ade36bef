"""Which names an expression reads and a statement binds. Attributes count by their last part: `self.scaler` is `scaler`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from amplint.flow import program as ir


@cache
def _parts(kind: type) -> tuple[str, ...]:
    """The fields of a node type that can hold nodes."""
    return tuple(name for name in kind.__dataclass_fields__ if name not in ("at", "shape"))  # type: ignore[attr-defined]


def children(node: object) -> Iterator[object]:
    """The nodes directly inside a node, in source order."""
    for name in _parts(type(node)):
        value = getattr(node, name)
        if isinstance(value, tuple):
            yield from _nodes(value)
        elif isinstance(value, ir.Node):
            yield value


def _nodes(values: tuple[object, ...]) -> Iterator[object]:
    for value in values:
        if isinstance(value, tuple):
            yield from _nodes(value)
        elif isinstance(value, (ir.Node, ir.Param)):
            yield value


def walk(node: object) -> Iterator[object]:
    """A node and everything inside it, functions included, in source order."""
    stack = [node]
    while stack:
        found = stack.pop()
        yield found
        stack.extend(reversed(list(children(found))))


def last(node: object) -> str:
    """The last part of a name: `b` of `a.b`, `a` of `a[0]`; empty for what has no name."""
    if isinstance(node, (ir.Name, ir.Attr)):
        return node.name
    if isinstance(node, ir.Item):
        return last(node.owner)
    return ""


def reads(node: object) -> set[str]:
    """Every name and attribute that occurs in an expression."""
    return {part.name for part in walk(node) if isinstance(part, (ir.Name, ir.Attr))}


def binds(target: object) -> set[str]:
    """The names that an assignment to `target` binds or changes."""
    if isinstance(target, ir.Display):
        return {name for item in target.items for name in binds(item)}
    name = last(target)
    return {name} if name else set()


def calls(node: object) -> set[str]:
    """The last names of everything that is called inside a node; a class called counts by its name."""
    return {last(part.func) for part in walk(node) if isinstance(part, ir.Call)} - {""}
