"""What stands in a node of a program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from amplint.flow import program as ir


def inside(node: object) -> Iterator[ir.Node]:
    """A node and all that stands in it, from the outside in; of what is assigned, not the target."""
    if isinstance(node, tuple):
        for part in node:
            yield from inside(part)
    elif isinstance(node, ir.Node):
        yield node
        left_out = _NO_CODE | ({"target"} if isinstance(node, ir.Assign) else set())
        for part in fields(node):
            if part.name not in left_out:
                yield from inside(getattr(node, part.name))


_NO_CODE = frozenset({"at", "decorators", "params"})
