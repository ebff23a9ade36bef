"""What a schedule counts that the program computes itself: by the numbers that enter its rates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from amplint.execution import arithmetic, horizon
from amplint.execution.contexts import Partial
from amplint.execution.counting import tags_of
from amplint.execution.counts import Length
from amplint.execution.run import Run
from amplint.execution.scopes import Scope
from amplint.execution.values import Function, Instance, Method, Scheduler, Value, text_of
from amplint.flow import program as ir
from amplint.flow.spelling import spelled
from amplint.protocol.cadence import MICRO_BATCHES

_RATES = ("get_lr", "_get_closed_form_lr")
_NO_TOTAL = re.compile(r"(?i)warm|start|last|cur|_count")
_TOTAL = re.compile(
    r"(?i)total|t_max|max_?(iter|step|epoch|update)|num_\w*(iter|step|epoch|update)|\bn?_?(iter|step|epoch|update)s$"
)
_THROUGH = frozenset({"float", "int", "len", "max", "min", "round"})
_PRODUCTS = frozenset({"*", "/", "//"})
MAX_FUNCTIONS = 16

Found = tuple[str, Value]
"""How a number is written, and the number."""


def compose(run: Run, made: Scheduler, instance: Instance | None = None) -> None:
    """Notes what enters the rates of a schedule, unless its class has an argument that says when it is over."""
    if "argument" in made.said or "unit" in made.said:
        return
    found = {(type(value), text_of(value)): (text, value) for text, value in _entering(run, made, instance)}
    if any(isinstance(value, Length) or arithmetic.window_of(run, value) is not None for _, value in found.values()):
        made.said["unit"] = MICRO_BATCHES  # what it does with the window is not asked
        return
    known = [one for one in found.values() if tags_of(one[1]) or _TOTAL.search(one[0])]
    totals = [horizon.counted(run, text, value) for text, value in known if not _NO_TOTAL.search(text)]
    if totals:
        run.composed.append((totals, made.said))


def _entering(run: Run, made: Scheduler, instance: Instance | None) -> Iterator[Found]:
    """The numbers that are known when a schedule is made and that its functions read, each as far as it is one."""
    done: set[int] = set()
    waiting = [*made.factors, *(_method(instance, name) for name in _RATES)]
    while waiting and len(done) < MAX_FUNCTIONS:
        function = waiting.pop()
        if isinstance(function, Partial):
            waiting.append(function.function)
            yield from function.keywords
        elif isinstance(function, Function | Method) and id(_plain(function).node) not in done:
            done.add(id(_plain(function).node))
            body = _Body(function)
            waiting += [_method(instance, name) for name in body.calls()]
            yield from body.numbers(run)


def _plain(function: Function | Method) -> Function:
    return function.function if isinstance(function, Method) else function


def _method(instance: Instance | None, name: str) -> Method | None:
    """A method of an object's class, or of one that it derives from."""
    from amplint.execution import attributes

    found = attributes.of_class(instance.klass, name) if instance is not None else None
    return Method(found, instance) if isinstance(found, Function) else None


class _Body:
    """What a function computes, its own names aside."""

    def __init__(self, function: Function | Method) -> None:
        node, outer = _plain(function).node, _plain(function).scope
        instance = function.instance if isinstance(function, Method) else None
        self.own = {param.name for param in node.params}
        self.first = node.params[0].name if isinstance(instance, Instance) and node.params else ""
        self.attributes = instance.attributes if isinstance(instance, Instance) else {}
        self.scope = Scope({self.first: instance} if self.first else {}, outer)
        self.nodes = list(_inside(node.body))
        assigned = (node.target for node in self.nodes if isinstance(node, ir.Assign | ir.Augment))
        self.own |= {target.name for target in assigned if isinstance(target, ir.Name)}

    def calls(self) -> Iterator[str]:
        """The names of the methods that it calls on its own object."""
        for node in self.nodes:
            if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and self._is_self(node.func.owner):
                yield node.func.name

    def numbers(self, run: Run) -> Iterator[Found]:
        """The numbers that it takes from elsewhere, products and quotients of such as one."""
        from amplint.execution.expressions import evaluate

        covered: set[int] = set()
        for node in self.nodes:
            if id(node) not in covered and not isinstance(node, ir.Const) and self._is_number(node):
                covered |= {id(part) for part in _inside(node)}
                number = _number(node)
                yield spelled(number).removeprefix(f"{self.first}."), evaluate(run, self.scope, number)

    def _is_self(self, node: object) -> bool:
        return isinstance(node, ir.Name) and bool(self.first) and node.name == self.first

    def _is_number(self, node: object) -> bool:
        """Whether an expression is made of nothing but numbers that were there before."""
        if isinstance(node, ir.Name):
            return node.name not in self.own and self.scope.find(node.name) is not None
        if isinstance(node, ir.Attr):
            if self._is_self(node.owner):
                return node.name in self.attributes
            return isinstance(node.owner, ir.Name | ir.Attr) and self._is_number(node.owner)
        if isinstance(node, ir.Binary):
            return node.op in _PRODUCTS and self._is_number(node.left) and self._is_number(node.right)
        if isinstance(node, ir.Call):
            plain = isinstance(node.func, ir.Name) and node.func.name in _THROUGH and not node.keywords
            return plain and bool(node.args) and all(map(self._is_number, node.args))
        return isinstance(node, ir.Const)


def _number(node: ir.Expr) -> ir.Expr:
    """What is converted by `float(x)` or `int(x)`, or kept from being 0 by `max(1, x)`, or the expression itself."""
    if not isinstance(node, ir.Call):
        return node
    name = spelled(node.func)
    rest = [one for one in node.args if not (isinstance(one, ir.Const) and one.value in (0, 1))]
    asks = bool(rest) and (name in ("float", "int") or (name == "max" and len(rest) == 1))
    return _number(rest[0]) if asks else node


def _inside(node: object) -> Iterator[Any]:
    """A node and all that stands in it, from the outside in; of what is assigned, not the target."""
    if isinstance(node, tuple):
        for part in node:
            yield from _inside(part)
    elif isinstance(node, ir.Node):
        yield node
        left_out = _NO_CODE | ({"target"} if isinstance(node, ir.Assign) else set())
        for part in fields(node):
            if part.name not in left_out:
                yield from _inside(getattr(node, part.name))


_NO_CODE = frozenset({"at", "decorators", "params"})
