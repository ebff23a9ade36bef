"""Which methods give a loss: the `forward` or `__call__` of a criterion, or of a model that computes its own loss; and
those that do a part of the training step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeGuard

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import last, reads, walk
from amplint.source.scout import OPERATORS

_LOSS = within(words.LOSS)
_SCALER = within(words.SCALER)
_PARTS, _OF_SCALERS = frozenset({"backward", "unscale_", "zero_grad"}), frozenset({"step", "update"})
_CALLED = frozenset({"forward", "__call__"})

Body = tuple[ir.Stmt, ...]


def giving(body: Iterable[ir.Stmt]) -> Mapping[int, frozenset[str]]:
    """Such methods, and those that run where an operator stands, by identity, with the names of the classes whose
    objects have them."""
    nodes = [node for statement in body for node in walk(statement)]
    classes = [node for node in nodes if isinstance(node, ir.Class)]
    criteria = _asked_for_losses(nodes) if classes else frozenset()
    return {id(method): _heirs(node.name, classes) for node in classes for method in _methods(node, criteria)}


def _asked_for_losses(nodes: list[object]) -> frozenset[str]:
    """The classes of the objects that are called for what goes back, by their names."""
    gone_back = {
        name
        for node in nodes
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and node.func.name == "backward"
        for name in reads(node.func.owner)
    }
    made = [(last(node.target), node.value) for node in nodes if isinstance(node, ir.Assign)]
    asked = {last(part.func) for name, value in made if name in gone_back for part in walk(value) if _is_call(part)}
    return frozenset(last(value.func) for name, value in made if name in asked and isinstance(value, ir.Call))


def _is_call(node: object) -> TypeGuard[ir.Call]:
    return isinstance(node, ir.Call)


def _methods(node: ir.Class, criteria: frozenset[str]) -> Iterator[ir.Function]:
    """The methods of a class that are run when an object of it is called, and that return a loss."""
    own = [child for child in node.body if isinstance(child, ir.Function)]
    called = (method for method in own if method.name in _CALLED)
    asked = node.name in criteria or _LOSS(node.name)
    yield from (method for method in called if asked or _returns_loss(method) or takes_part(method))
    yield from (method for method in own if method.name in OPERATORS)


def takes_part(method: ir.Function) -> bool:
    """Whether a method does a part of the training step itself, besides what it computes."""
    return any(map(_is_part, walk(method)))


def _is_part(node: object) -> bool:
    if isinstance(node, ir.Assign):
        return last(node.target) == "grad"
    method = node.func if isinstance(node, ir.Call) else None
    if not isinstance(method, ir.Attr):
        return False
    scales = method.name == "scale" and last(method.owner) not in ("self", "")  # whose own it may be, of a layer
    return scales or method.name in _PARTS or (method.name in _OF_SCALERS and _SCALER(last(method.owner)))


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
