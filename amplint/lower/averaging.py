"""Averages of weights that a loop over the parameters of two models updates by hand.

`for a, p in zip(average.parameters(), model.parameters()): a.mul_(decay).add_(p, alpha=1 - decay)` is told as one call
that takes the weights of the model into the average.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.dialects.averages import BY_HAND
from amplint.flow import program as ir
from amplint.lower.names import binds, last, reads, walk

_PARAMETERS = frozenset({"parameters", "named_parameters"})
_BLENDS = frozenset({"lerp_", "mul_", "add_", "sub_", "copy_"})
_PLAIN = (ir.Name, ir.Attr)


def as_averages(body: Iterable[ir.Stmt]) -> Iterator[ir.Stmt]:
    """The statements of a block; a loop that does nothing but blend the parameters of two models is one call."""
    for node in body:
        update = _update(node) if isinstance(node, ir.For) else None
        yield node if update is None else update


def _update(loop: ir.For) -> ir.Do | None:
    source, target = loop.source, loop.target
    if not isinstance(source, ir.Call) or last(source.func) != "zip" or len(source.args) != 2 or loop.orelse:
        return None
    models = [_model(one) for one in source.args]
    names = [_each(one) for one in target.items] if isinstance(target, ir.Display) else []
    if None in models or len(names) != 2 or None in names:
        return None
    for average, model in ((0, 1), (1, 0)):
        if _blends(loop.body, str(names[average]), str(names[model])):
            handed = tuple(one for one in (models[average], models[model]) if one is not None)
            return ir.Do(loop.at, ir.Call(loop.at, ir.Name(loop.at, BY_HAND), handed, ()))
    return None


def _model(node: ir.Expr) -> ir.Expr | None:
    """The model whose parameters an expression goes over."""
    own = isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and node.func.name in _PARAMETERS
    if not own or not isinstance(node, ir.Call) or not isinstance(node.func, ir.Attr) or node.args:
        return None
    return node.func.owner if isinstance(node.func.owner, _PLAIN) else None


def _each(node: ir.Expr) -> str | None:
    """The name of one parameter; of `name, parameter`, that of the latter."""
    one = node.items[-1] if isinstance(node, ir.Display) and node.items else node
    return one.name if isinstance(one, ir.Name) else None


def _blends(body: tuple[ir.Stmt, ...], average: str, model: str) -> bool:
    """Whether a loop changes the parameter of the average by both, and no other."""
    nodes = [node for statement in body for node in walk(statement)]
    changes = [change for node in nodes if (change := _changed(node)) is not None]
    made_of: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ir.Assign) and isinstance(node.target, (ir.Name, ir.Display)):
            made_of.update(dict.fromkeys(binds(node.target), reads(node.value)))
    by = {inner for _, names in changes for name in names for inner in (name, *made_of.get(name, ()))}
    return {name for name, _ in changes} == {average} and {average, model} <= by


def _changed(node: object) -> tuple[str, set[str]] | None:
    """The parameter that a node changes in place, and what it is made of."""
    if isinstance(node, ir.Augment) or (isinstance(node, ir.Assign) and isinstance(node.target, ir.Attr)):
        name = _parameter(node.target)
        return (name, reads(node.value) | ({name} if isinstance(node, ir.Augment) else set())) if name else None
    if not isinstance(node, ir.Call) or not isinstance(node.func, ir.Attr) or node.func.name not in _BLENDS:
        return None
    owner: ir.Expr = node.func.owner
    while isinstance(owner, ir.Call) and isinstance(owner.func, ir.Attr) and owner.func.name in _BLENDS:
        owner = owner.func.owner
    given = {name for one in (*node.args, *(value for _, value in node.keywords)) for name in reads(one)}
    name = _parameter(owner)
    return (name, given if node.func.name == "copy_" else {name, *given}) if name else None


def _parameter(node: ir.Expr) -> str:
    """The name of a parameter, or of one whose values are meant: `p.data`; empty for anything else."""
    inner = node.owner if isinstance(node, ir.Attr) and node.name == "data" else node
    return inner.name if isinstance(inner, ir.Name) else ""
