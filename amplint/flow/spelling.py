"""How an expression of a program is written, what stands in it, and which plain names one as a target binds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from amplint.flow import program as ir

ON = frozenset({"!= 0", "> 0", ">= 1", "is not None", "!= None", "is True", "== True", "!= ''"})
OFF = frozenset({"== 0", "<= 0", "< 1", "is None", "== None", "is False", "== False", "== ''"})
"""Comparisons that ask no more of a setting than whether it is on, or off."""


def spelled(node: object) -> str:
    """An expression as it is written, as far as names go; the same for two places that name the same things."""
    if isinstance(node, ir.Name):
        return node.name
    if isinstance(node, ir.Attr):
        return f"{spelled(node.owner)}.{node.name}"
    if isinstance(node, ir.Const):
        return repr(node.value)
    if isinstance(node, (ir.Binary, ir.Compare)):
        return f"{spelled(node.left)} {node.op} {spelled(node.right)}"
    if isinstance(node, ir.Item):
        return f"{spelled(node.owner)}[{spelled(node.index)}]"
    if isinstance(node, ir.Call):
        return f"{spelled(node.func)}({', '.join(spelled(arg) for arg in node.args)})"
    return getattr(node, "text", "...")


def root(target: ir.Expr) -> str:
    """The plain name at which a chain of attributes and elements begins; empty if it begins with something else."""
    while isinstance(target, (ir.Attr, ir.Item)):
        target = target.owner
    return target.name if isinstance(target, ir.Name) else ""


def plain_names(target: ir.Expr) -> Iterator[str]:
    """The plain names that an assignment to `target` binds; no attribute, no element."""
    if isinstance(target, ir.Name):
        yield target.name
    elif isinstance(target, ir.Display):
        for item in target.items:
            yield from plain_names(item)


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
