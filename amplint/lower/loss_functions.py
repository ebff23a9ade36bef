"""Losses that a trainer is handed, or finds in a table of its own: a function, a method, an object or a class.

Whoever hands one over takes the window over with it: the trainer divides by nothing more (transformers 5.24,
`trainer.py`, `training_step`; so since 4.46, which was the first to take one).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from amplint.dialects import LOSS_TABLES
from amplint.flow import program as ir
from amplint.lower.names import last, walk
from amplint.lower.scopes import Scope

_UNBOUND = frozenset({"staticmethod"})
_PLAIN = frozenset({"staticmethod", "classmethod"})
_CALLED = ("__call__", "forward")
_DEEP = 4


@dataclass(frozen=True)
class LossFunction:
    """A function that is called for a loss, without what stands before the model's outputs; what it is called, and what
    the attributes of its object are given."""

    function: ir.Function
    name: str
    attributes: Mapping[str, ir.Expr]


class LossFunctions:
    """The functions and classes of a module that may be handed to a trainer."""

    def __init__(self, nodes: list[object]) -> None:
        self.classes = _alone(node for node in nodes if isinstance(node, ir.Class))
        inside = [node for node in nodes if isinstance(node, ir.Class)]
        methods = {id(child) for klass in inside for child in klass.body if isinstance(child, ir.Function)}
        functions = [node for node in nodes if isinstance(node, ir.Function)]
        given = {param.name for node in functions for param in node.params}
        free = _alone(node for node in functions if id(node) not in methods)
        self.functions = {name: node for name, node in free.items() if name not in given}

    def of(self, value: ir.Expr, scope: Scope, depth: int = _DEEP) -> LossFunction | None:
        """What is called where a value is; None where that is not of the module, or not certain."""
        value = scope.value(value)
        if depth == 0:
            return None
        if isinstance(value, ir.Lambda):
            body = (ir.Return(value.body.at, value.body),)
            return LossFunction(ir.Function(value.at, "lambda", value.params, body), "lambda", {})
        if isinstance(value, ir.Name):
            bound = scope.binding(value)
            found = self.functions.get(value.name) if bound is not None and bound[1][0] is None else None
            return None if found is None or found.decorators else LossFunction(found, found.name, {})
        if isinstance(value, ir.Attr):
            return self._method(value, scope)
        return self._made(value, scope, depth) if isinstance(value, ir.Call) else None

    def _made(self, call: ir.Call, scope: Scope, depth: int) -> LossFunction | None:
        """An object of a class, or a function that is given some of its arguments beforehand."""
        if last(call.func) != "partial":
            return self.of_class(call.func)
        inner = self.of(call.args[0], scope, depth - 1) if call.args and not call.starred else None
        if inner is None:
            return None
        params = inner.function.params[len(call.args) - 1 :]
        return replace(inner, function=replace(inner.function, params=params))

    def _method(self, value: ir.Attr, scope: Scope) -> LossFunction | None:
        """A bound method: of the class around it, or of an object that is made of one."""
        owner = scope.value(value.owner)
        if isinstance(owner, ir.Call):
            klass = self.classes.get(last(owner.func))
        elif last(owner) == "self":
            around = [klass for klass in self.classes.values() if any(part is value for part in walk(klass))]
            klass = around[0] if len(around) == 1 else None
        else:
            klass = None
        return None if klass is None else self._of_object(klass, value.name)

    def of_class(self, value: ir.Expr) -> LossFunction | None:
        """What is called where an object of a class is: by itself, or by torch."""
        klass = self.classes.get(last(value)) if isinstance(value, ir.Name) else None
        found = (self._of_object(klass, name) for name in _CALLED) if klass is not None else ()
        return next((one for one in found if one is not None), None)

    def _of_object(self, klass: ir.Class, name: str) -> LossFunction | None:
        """A method of an object of a class, which may be its base's."""
        lineage = self._lineage(klass)
        methods = {node.name: node for one in reversed(lineage) for node in one.body if isinstance(node, ir.Function)}
        method = methods.get(name)
        if method is None or not {last(one) for one in method.decorators} <= _PLAIN:
            return None
        free = _UNBOUND & {last(one) for one in method.decorators}
        own = replace(method, params=method.params if free else method.params[1:], decorators=())
        called = f"{klass.name}.{name}" if name in _CALLED else name
        return LossFunction(own, called, _attributes(lineage))

    def _lineage(self, klass: ir.Class) -> list[ir.Class]:
        """A class and those of the module that it derives from, by its first base."""
        found = [klass]
        while found[-1].bases:
            base = self.classes.get(last(found[-1].bases[0]))
            if base is None or base in found:
                break
            found.append(base)
        return found


def entries(node: ir.Assign, scope: Scope) -> Iterator[tuple[ir.Expr, bool]]:
    """What an assignment puts into a framework's table of losses, and whether it holds classes."""
    if isinstance(node.target, ir.Item):
        made = LOSS_TABLES.get(scope.qualified(node.target.owner) or "")
        if made is not None:
            yield node.value, made


_Defined = TypeVar("_Defined", ir.Function, ir.Class)


def _alone(nodes: Iterator[_Defined]) -> dict[str, _Defined]:
    """Functions or classes by their names, but for names that two have."""
    found: dict[str, list[_Defined]] = {}
    for node in nodes:
        found.setdefault(node.name, []).append(node)
    return {name: same[0] for name, same in found.items() if len(same) == 1}


def _attributes(lineage: list[ir.Class]) -> dict[str, ir.Expr]:
    """What the attributes of an object are given, those that are given one value only."""
    found: dict[str, list[ir.Expr]] = {}
    for node in (part for klass in lineage for part in walk(klass)):
        if isinstance(node, ir.Assign) and isinstance(node.target, ir.Attr) and last(node.target.owner) == "self":
            found.setdefault(node.target.name, []).append(node.value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}
