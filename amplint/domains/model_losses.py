"""The losses that the forward of a module of the program returns.

A forward that is not run (what it does to tensors says nothing about the step) is read: many models compute their loss
themselves, and what `return logits, loss` hands out is the mean of a criterion if that is all that is ever bound to the
name. A loss to which anything else is done is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from amplint.domains import reductions
from amplint.flow import program as ir
from amplint.flow.spelling import plain_names
from amplint.state.scopes import Scope
from amplint.state.values import Criterion, Loss, Method, Symbol, Trail, Value

if TYPE_CHECKING:
    from amplint.state.run import Run


@dataclass(frozen=True)
class _Forward:
    """A forward: what is bound to its names, and what it returns."""

    bound: dict[str, list[ir.Expr | None]]
    returns: list[ir.Expr]


def losses(run: Run, forward: Method, other: Symbol) -> Value:
    """What a call of a forward returns, with the losses that are known in their places; None if none is.

    `other` is what stands for all that is no loss.
    """
    if not isinstance(forward.function.node, ir.Function) or forward.function.node.generator:
        return None
    scope = Scope(parent=forward.function.scope, function=forward.function, instance=forward.instance)
    if forward.function.node.params:
        scope.names[forward.function.node.params[0].name] = forward.instance
    read = _read(forward.function.node.body)
    forms = [_form(run, scope, read, value, other) for value in read.returns]
    telling = [form for form in forms if form is not None]
    if not telling or (isinstance(telling[0], Loss) and len(telling) < len(forms)):
        return None
    return telling[0] if len(telling) == 1 else None


def _read(body: tuple[ir.Stmt, ...]) -> _Forward:
    found = _Forward({}, [])
    for node in _statements(body):
        if isinstance(node, ir.Return) and node.value is not None:
            found.returns.append(node.value)
        elif isinstance(node, ir.Assign):
            for name in plain_names(node.target):
                found.bound.setdefault(name, []).append(node.value if isinstance(node.target, ir.Name) else None)
        elif isinstance(node, ir.Augment) and isinstance(node.target, ir.Name):
            found.bound.setdefault(node.target.name, []).append(None)
    return found


def _statements(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Stmt]:
    """The statements of a function, those in its blocks included; no loop's, where losses may be added up."""
    for node in body:
        yield node
        if isinstance(node, ir.If):
            yield from _statements((*node.body, *node.orelse))
        elif isinstance(node, ir.With):
            yield from _statements(node.body)
        elif isinstance(node, (ir.For, ir.While, ir.Try)):
            inner = (*node.body, *node.orelse)
            yield from (ir.Augment(one.at, "=", target, target) for one in inner for target in _targets(one))


def _targets(node: ir.Stmt) -> Iterator[ir.Expr]:
    """What a statement in a loop binds: nothing is said of it."""
    if isinstance(node, (ir.Assign, ir.Augment)):
        yield node.target
    for name in ("body", "orelse", "final"):
        for inner in getattr(node, name, ()):
            yield from _targets(inner)


def _form(run: Run, scope: Scope, read: _Forward, value: ir.Expr, other: Symbol) -> Value:
    """A returned value with its losses; None if it holds none."""
    if isinstance(value, ir.Display) and value.kind in ("tuple", "list"):
        items = [_loss(run, scope, read, item, other) for item in value.items]
        return tuple(item or other for item in items) if any(items) else None
    if isinstance(value, ir.Mapping):
        known = [(key.value, item) for key, item in value.items if isinstance(key, ir.Const)]
        pairs = {key: _loss(run, scope, read, item, other) for key, item in known}
        return {key: item or other for key, item in pairs.items()} if any(pairs.values()) else None
    return _loss(run, scope, read, value, other)


def _loss(run: Run, scope: Scope, read: _Forward, value: ir.Expr, other: Symbol) -> Loss | None:
    """The mean of a criterion that an expression stands for."""
    if isinstance(value, ir.Choice):
        sides = [side for side in (value.yes, value.no) if not _is_none(side)]
        return _loss(run, scope, read, sides[0], other) if len(sides) == 1 else None
    if isinstance(value, ir.Name):
        bound = [one for one in read.bound.get(value.name, []) if one is None or not _is_none(one)]
        made = bound[0] if len(bound) == 1 else None
        return _loss(run, scope, _Forward({}, []), made, other) if made is not None else None
    criterion = _criterion(run, scope, value) if isinstance(value, ir.Call) else None
    if criterion is None or criterion.averaged is not True:
        return None
    return Loss(Fraction(1), trail=Trail(forward=other.ran, reach=other.reach), ignores=criterion.ignores)


def _is_none(node: ir.Expr) -> bool:
    return isinstance(node, ir.Const) and node.value is None


def _criterion(run: Run, scope: Scope, node: ir.Call) -> Criterion | None:
    """The criterion of torch that is called, if one is."""
    if not isinstance(node.func, (ir.Name, ir.Attr)):
        return None
    said = (one for one in node.keywords if one[0] in ("reduction", "ignore_index"))
    keywords = {name: run.evaluate(scope, value) for name, value in said}
    return reductions.criterion_of(run, run.evaluate(scope, node.func), keywords)
