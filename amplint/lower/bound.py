"""Names that a function binds by assignments alone, all of which are kept: Python raises where none has run."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from amplint.flow import program as ir
from amplint.flow.spelling import plain_names


def bound(body: Iterable[ir.Stmt], kept: Container[int]) -> frozenset[str]:
    """The names; `kept`: the statements that are, by identity."""
    whole, others = set[str](), set[str]()
    for node, stays in _statements(body, kept, True):
        if isinstance(node, ir.Assign):
            (whole if stays else others).update(plain_names(node.target))
        else:
            others.update(_bound_otherwise(node))
    return frozenset(whole - others)


def _bound_otherwise(node: ir.Stmt) -> Iterator[str]:
    if isinstance(node, ir.Global):
        yield from node.names
    elif isinstance(node, ir.Import | ir.Function | ir.Class):
        yield node.name
    elif isinstance(node, ir.For | ir.With) and node.target is not None:
        yield from plain_names(node.target)


def _statements(body: Iterable[ir.Stmt], kept: Container[int], stays: bool) -> Iterator[tuple[ir.Stmt, bool]]:
    """The statements of a function, with those in its blocks, and whether each is kept with all that it is in."""
    for node in body:
        here = stays and id(node) in kept
        yield node, here
        if isinstance(node, ir.If | ir.For | ir.While):
            yield from _statements((*node.body, *node.orelse), kept, here)
        elif isinstance(node, ir.With):
            yield from _statements(node.body, kept, here)
        elif isinstance(node, ir.Try):
            for part in (node.body, *node.handlers, node.orelse, node.final):
                yield from _statements(part, kept, here)
