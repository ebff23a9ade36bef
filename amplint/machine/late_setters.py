"""Objects that somebody else sets up before they train: `engine.set_optimizer(optimizer)` in another file.

An attribute that is None when the constructor returns, and that a method which nobody here calls gives a value, has
that value in training: nothing steps with None.
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.flow import program as ir
from amplint.machine import calls
from amplint.state.run import Run
from amplint.state.values import Class, Function, Instance, Method, Symbol

_USED = frozenset({"step", "zero_grad", "scale", "unscale_", "update", "backward"})


def set_up(run: Run, instance: Instance, at: ir.Span) -> None:
    """Calls the methods that give an object what it trains with, each handed symbols."""
    for function in _methods(instance.klass):
        node = function.node
        if isinstance(node, ir.Function) and _sets_up(run, instance, node):
            names = [param.name for param in node.params[1:] if not param.star]
            calls.invoke(run, Method(function, instance), [Symbol(name) for name in names], {}, at)


def _methods(klass: Class) -> Iterator[Function]:
    """The methods of a class, its own before those of its bases."""
    for holder in (klass, *(base for base in klass.bases if isinstance(base, Class))):
        yield from (value for value in holder.attributes.values() if isinstance(value, Function))


def _sets_up(run: Run, instance: Instance, node: ir.Function) -> bool:
    """Whether a method that only others can call gives a value to what is None and is trained with."""
    if node.backward or node.steps or node.decorators or not node.params or f".{node.name}" in run.program.called:
        return False
    owner = node.params[0].name
    return any(_lacks(run, instance, name) for name in _given(node.body, owner))


def _given(body: tuple[ir.Stmt, ...], owner: str) -> Iterator[str]:
    """The attributes to which a body gives a value other than a constant, whatever else it does."""
    for statement in body:
        target = statement.target if isinstance(statement, ir.Assign) else None
        known = isinstance(target, ir.Attr) and isinstance(target.owner, ir.Name) and target.owner.name == owner
        if known and isinstance(statement, ir.Assign) and not isinstance(statement.value, ir.Const):
            yield target.name  # type: ignore[union-attr]


def _lacks(run: Run, instance: Instance, name: str) -> bool:
    """Whether an attribute is None, and something in the module trains with one of that name."""
    held = instance.attributes.get(name, ...)
    return held is None and not _USED.isdisjoint(run.program.usage.get(name, ()))
