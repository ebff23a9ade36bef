"""Which methods give a loss: the `forward` or `__call__` of a criterion, or of a model that computes its own loss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import last, reads, walk
from amplint.source.scout import OPERATORS

_LOSS = within(words.LOSS)
_CALLED = frozenset({"forward", "__call__"})

Body = tuple[ir.Stmt, ...]


def giving(body: Iterable[ir.Stmt]) -> Mapping[int, frozenset[str]]:
    """Such methods, and those that run where an operator stands, by identity, with the names of the classes whose
    objects have them."""
    classes = [node for statement in body for node in walk(statement) if isinstance(node, ir.Class)]
    return {id(method): _heirs(node.name, classes) for node in classes for method in _methods(node)}


def _methods(node: ir.Class) -> Iterator[ir.Function]:
    """The methods of a class that are run when an object of it is called, and that return a loss."""
    own = [child for child in node.body if isinstance(child, ir.Function)]
    called = (method for method in own if method.name in _CALLED)
    yield from (method for method in called if _LOSS(node.name) or _returns_loss(method))
    yield from (method for method in own if method.name in OPERATORS)


def _returns_loss(method: ir.Function) -> bool:
    returned = (part.value for part in walk(method) if isinstance(part, ir.Return) and part.value is not None)
    return any(_LOSS(name) for value in returned for name in _spoken(value))


def _spoken(value: ir.Expr) -> set[str]:
    """The names in an expression, the keys of its dicts and the names of its arguments."""
    nodes = walk(value)
    keys = {
        str(key.value)
        for node in nodes
        if isinstance(node, ir.Mapping)
        for key, _ in node.items
        if isinstance(key, ir.Const)
    }
    return reads(value) | keys | {name for node in nodes if isinstance(node, ir.Call) for name, _ in node.keywords}


def _heirs(name: str, classes: list[ir.Class]) -> frozenset[str]:
    """A class and those that derive from it, however far, by their names."""
    found: set[str] = {name}
    while more := {node.name for node in classes if found & {last(base) for base in node.bases}} - found:
        found |= more
    return frozenset(found)
