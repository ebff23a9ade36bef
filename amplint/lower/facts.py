"""Facts of the text: public names that are called or named, which a rule may judge by what stands there alone."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeGuard

from amplint.dialects.syntax import CONFIGURATION, DATA_PARALLEL, FORMER_AMP, FUNCTION, SCHEDULES, SECTIONS
from amplint.flow import program as ir
from amplint.lower.automatic import overrides_of
from amplint.lower.custom_functions import unprepared
from amplint.lower.halves import Half, Halves
from amplint.lower.handed_losses import HandedLosses
from amplint.lower.handed_schedules import handed_schedules
from amplint.lower.kept import kept
from amplint.lower.names import children, last, walk
from amplint.lower.overrides import Overrides
from amplint.lower.releases import ALL, alternative, asks_for_amp, asks_for_release, attempts, newer
from amplint.lower.replicas import replicas_called, replicated
from amplint.lower.scopes import Scope, names_in
from amplint.protocol.events import Site
from amplint.protocol.facts import Fact, Public

_NOBODY: frozenset[str] = frozenset()
_CLASS_TESTS = frozenset({"isinstance", "issubclass"})


def facts_of(path: str, body: tuple[ir.Stmt, ...]) -> Iterator[Fact]:
    """The calls and other mentions of public names in a module, in the order of the text."""
    scope = Scope.of_module(body)
    reader = _Reader(path, body, scope)
    found = _for_several(list(reader.suite(body, _Around(scope))), reader)
    schedules = {_span(fact) for fact in found if SCHEDULES.match(fact.called)}
    stays = kept(body, schedules)
    for fact in found:
        reads, trains = stays.get(_span(fact), (None, False))
        yield replace(fact, reads=reads, trains=trains) if reads is not None else fact
    yield from _meetings(path, body, scope)


def _for_several(facts: list[Fact], reader: _Reader) -> list[Fact]:
    """Facts, of which all that are of the old module are chosen where one is: the file is for several releases."""
    several = reader.several or any(fact.chosen and _is_old(fact) for fact in facts)
    return [replace(fact, chosen=True) if several and _is_old(fact) else fact for fact in facts]


def _is_old(fact: Fact) -> bool:
    return fact.called.startswith(f"{FORMER_AMP}.")


def _meetings(path: str, body: tuple[ir.Stmt, ...], scope: Scope) -> Iterator[Fact]:
    """Where a number meets a float16 tensor, each place once."""
    for node, operation, number, half in Halves(scope).body(body, {}):
        value = _literal(number)
        if value is not None:
            said: dict[int | str, object] = {"operation": operation, "number": value}
            yield Fact("float16", Site(path, *node.at), said, mild=half is not Half.YES)


def _span(fact: Fact) -> ir.Span:
    return (fact.site.row, fact.site.column, fact.site.end_row, fact.site.end_column)


@dataclass(frozen=True)
class _Around:
    """Where code stands: its scope, and the names in its function that nobody reads.

    `elsewhere`: the short names that another version of this code, chosen by a test, uses instead.
    """

    scope: Scope
    elsewhere: frozenset[str] = _NOBODY
    unread: frozenset[str] = _NOBODY

    def within(self, scope: Scope, unread: frozenset[str] = _NOBODY) -> _Around:
        return _Around(scope, self.elsewhere, unread)

    def beside(self, names: frozenset[str]) -> _Around:
        return replace(self, elsewhere=self.elsewhere | names) if names else self


class _Reader:
    """Reads the facts of one module, from the outside in.

    `several`: the module asks for something of mixed precision that a release of torch may lack.
    """

    def __init__(self, path: str, body: tuple[ir.Stmt, ...], scope: Scope) -> None:
        self.path, self.body, self.replicated = path, body, replicated(body, scope)
        self.several = False
        self.overrides, self.unprepared = Overrides(path, body), unprepared(body, scope)
        self.losses = HandedLosses(path, self.overrides)

    def suite(self, nodes: Iterable[object], around: _Around) -> Iterator[Fact]:
        every = tuple(nodes)
        behind = self._newer_behind(every, around.scope)
        for node in every:
            later = behind.pop()
            if _is_left(node):
                yield from self.of(node, around.beside(later))
                around = around.beside(alternative(node.test, node.body, around.scope))
            else:
                yield from self.of(node, around)

    def _newer_behind(self, nodes: tuple[object, ...], scope: Scope) -> list[frozenset[str]]:
        """What is taken from the new module behind each statement of a block, the last one first; nothing where no
        branch is left before its end."""
        if not any(map(_is_left, nodes)):
            return [_NOBODY] * len(nodes)
        found = [_NOBODY]
        for node in nodes[:0:-1]:
            found.append(found[-1] | newer((node,), scope))
        return found

    def of(self, node: object, around: _Around) -> Iterator[Fact]:
        """The facts of one statement or expression."""
        make = _READERS.get(type(node))
        return make(self, node, around) if make else self.suite(children(node), around)

    def function(self, node: ir.Function, around: _Around) -> Iterator[Fact]:
        for decorator in node.decorators:
            bare = isinstance(decorator, (ir.Name, ir.Attr))
            yield from self.named(decorator, around, "decorates") if bare else self.of(decorator, around)
        yield from self.suite(_defaults(node.params), around)
        inner = around.scope.inside(node.body, (param.name for param in node.params))
        yield from self.suite(node.body, around.within(inner, _unread(node.body)))
        yield from _meetings(self.path, node.body, inner)

    def klass(self, node: ir.Class, around: _Around) -> Iterator[Fact]:
        yield from self.suite((*node.decorators, *node.bases), around)
        if not around.elsewhere & ALL:
            yield from self.overrides.of(node, around.scope)
            yield from self.losses.derived(node, around.scope)
            yield from overrides_of(self.path, self.body, node, around.scope)
            yield from handed_schedules(self.path, self.body, node, around.scope)
        if id(node) in self.unprepared:
            yield Fact(FUNCTION, Site(self.path, *node.at), {"name": node.name}, "derived", False)
        yield from self.suite(node.body, around.within(around.scope.inside(node.body, of_class=True)))

    def nameless(self, node: ir.Lambda, around: _Around) -> Iterator[Fact]:
        yield from self.suite(_defaults(node.params), around)
        inner = around.scope.inside((), (param.name for param in node.params))
        yield from self.of(node.body, around.within(inner))

    def comprehension(self, node: ir.Comprehension, around: _Around) -> Iterator[Fact]:
        yield from self.of(node.source, around)
        inner = around.within(around.scope.inside((), names_in(node.target)))
        for part in (*node.tests, node.element):
            yield from self.of(part, inner)

    def branch(self, node: ir.If, around: _Around) -> Iterator[Fact]:
        self.several |= asks_for_release(node.test, around.scope) and bool(newer(node.body + node.orelse, around.scope))
        yield from self.of(node.test, around)
        yield from self.suite(node.body, around.beside(alternative(node.test, node.orelse, around.scope)))
        yield from self.suite(node.orelse, around.beside(alternative(node.test, node.body, around.scope)))

    def choice(self, node: ir.Choice, around: _Around) -> Iterator[Fact]:
        yield from self.of(node.test, around)
        yield from self.of(node.yes, around.beside(alternative(node.test, (node.no,), around.scope)))
        yield from self.of(node.no, around.beside(alternative(node.test, (node.yes,), around.scope)))

    def attempt(self, node: ir.Try, around: _Around) -> Iterator[Fact]:
        self.several |= attempts(node, around.scope)
        handled = tuple(child for handler in node.handlers for child in handler)
        yield from self.suite(node.body, around.beside(newer(handled, around.scope)))
        yield from self.suite(handled, around.beside(newer(node.body, around.scope)))
        yield from self.suite((*node.orelse, *node.final), around)

    def effect(self, node: ir.Do, around: _Around) -> Iterator[Fact]:
        return (
            self.call(node.value, around, "dropped") if isinstance(node.value, ir.Call) else self.of(node.value, around)
        )

    def assigned(self, node: ir.Assign, around: _Around) -> Iterator[Fact]:
        """What is assigned to a local name that nobody reads is dropped."""
        dropped = isinstance(node.target, ir.Name) and node.target.name in around.unread
        if dropped and isinstance(node.value, ir.Call):
            return self.call(node.value, around, "dropped")
        if dropped and isinstance(node.value, ir.Choice):  # one of the two, whichever it is
            each = (replace(node, value=one) for one in (node.value.yes, node.value.no))
            return chain(self.of(node.value.test, around), *(self.assigned(one, around) for one in each))
        entered = () if around.elsewhere & ALL else self.losses.entered(node, around.scope)
        return chain(entered, self.suite((node.target, node.value), around))

    def context(self, node: ir.With, around: _Around) -> Iterator[Fact]:
        """`with a and b` enters the second of two contexts, `a or b` the first."""
        head = node.context
        if replicas_called(node, around.scope, self.replicated):
            yield Fact(DATA_PARALLEL, Site(self.path, *node.at), {}, "entered", False)
        parts = head.parts if isinstance(head, ir.Logic) and head.op != "not" else (head,)
        entered = parts[0] if isinstance(head, ir.Logic) and head.op == "or" else parts[-1]
        for part in parts:
            if part is entered and isinstance(part, (ir.Name, ir.Attr)):
                yield from self.named(part, around, "entered")
            elif part is not entered and isinstance(part, ir.Call):
                yield from self.call(part, around, "dropped")
            else:
                yield from self.of(part, around)
        yield from self.suite(node.body, around)

    def mapping(self, node: ir.Mapping, around: _Around) -> Iterator[Fact]:
        """A configuration is a dictionary of sections: which of its parts are switched on."""
        sections = [(key, value) for key, value in node.items if not isinstance(value, ir.Const)]
        on = {key.value: _switch(value) for key, value in sections if isinstance(key, ir.Const)}
        if {*SECTIONS} <= on.keys():
            yield Fact(CONFIGURATION, Site(self.path, *node.at), {name: on[name] for name in SECTIONS})
        yield from self.suite(children(node), around)

    def call(self, node: ir.Call, around: _Around, used: str = "used") -> Iterator[Fact]:
        called = around.scope.qualified(node.func)
        self.several |= asks_for_amp(node, around.scope)
        if not around.elsewhere & ALL:
            yield from self.losses.handed(node, around.scope)
        if called is None:
            yield from self.of(node.func, around)
        else:
            arguments: dict[int | str, object] = {at: _known(arg, around.scope) for at, arg in enumerate(node.args)}
            arguments |= {name: _known(value, around.scope) for name, value in node.keywords}
            yield self._fact(node, node.func, called, around, arguments, used, not node.starred)
        if last(node.func) not in _CLASS_TESTS:
            yield from self.suite((*node.args, *(value for _, value in node.keywords)), around)

    def named(self, node: ir.Expr, around: _Around, used: str = "named") -> Iterator[Fact]:
        called = around.scope.qualified(node)
        if called is not None and "." in called:
            yield self._fact(node, node, called, around, {}, used, False)
        elif isinstance(node, ir.Attr):
            yield from self.of(node.owner, around)

    def _fact(
        self,
        node: ir.Node,
        name: ir.Expr,
        called: str,
        around: _Around,
        arguments: dict[int | str, object],
        used: str,
        whole: bool,
    ) -> Fact:
        chosen = bool(around.elsewhere & {*ALL, called.rpartition(".")[2]}) or around.scope.falls_back(name)
        return Fact(called, Site(self.path, *node.at), arguments, used, whole, chosen)


_READERS: dict[type, Callable[..., Iterator[Fact]]] = {
    ir.Function: _Reader.function,
    ir.Class: _Reader.klass,
    ir.Lambda: _Reader.nameless,
    ir.Comprehension: _Reader.comprehension,
    ir.If: _Reader.branch,
    ir.Choice: _Reader.choice,
    ir.Try: _Reader.attempt,
    ir.Do: _Reader.effect,
    ir.Assign: _Reader.assigned,
    ir.With: _Reader.context,
    ir.Mapping: _Reader.mapping,
    ir.Call: _Reader.call,
    ir.Name: _Reader.named,
    ir.Attr: _Reader.named,
}


def _defaults(params: Iterable[ir.Param]) -> tuple[ir.Expr, ...]:
    return tuple(param.default for param in params if param.default is not None)


def _unread(body: tuple[ir.Stmt, ...]) -> frozenset[str]:
    """The names that a function binds and mentions nowhere else."""
    inside = [part for statement in body for part in walk(statement)]
    named = Counter(part.name for part in inside if isinstance(part, ir.Name))
    hidden = " ".join(part.text for part in inside if isinstance(part, ir.Text))
    declared = {name for part in inside if isinstance(part, ir.Global) for name in part.names}
    return frozenset(name for name, count in named.items() if count == 1 and name not in hidden) - declared


def _is_left(node: object) -> TypeGuard[ir.If]:
    """Whether a statement is an `if` behind whose branch nothing of its block runs."""
    return isinstance(node, ir.If) and bool(node.body) and isinstance(node.body[-1], (ir.Return, ir.Leave))


def _switch(node: ir.Expr) -> object:
    """What `{"enabled": value}` says, if it is a literal."""
    parts = node.items if isinstance(node, ir.Mapping) else ()
    said = (value for key, value in parts if isinstance(key, ir.Const) and key.value == "enabled")
    return _literal(next(said, node))


def _known(node: ir.Expr, scope: Scope) -> object:
    """The value of a literal, arithmetic of numbers included; the public name that stands there; None for the rest.

    What a public name makes is known by that name and `()`.
    """
    found = _literal(node)
    made = scope.value(node)
    if found is None and isinstance(made, ir.Call) and (maker := scope.qualified(made.func)) is not None:
        return Public(f"{maker}()")
    if found is None and (name := scope.qualified(node)) is not None:
        return Public(name)
    return found


def _literal(node: ir.Expr) -> object:
    """The value of a literal, arithmetic of numbers included; None for anything else."""
    if isinstance(node, ir.Const):
        return node.value
    if isinstance(node, ir.Binary):
        left, right = _literal(node.left), _literal(node.right)
        if isinstance(left, (int, float)) and isinstance(right, (int, float)):
            return _computed(node.op, left, right)
    return None


_OPERATIONS: dict[str, Callable[[float, float], object]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": lambda left, right: float(left) ** right if abs(right) <= 64 else None,
}


def _computed(op: str, left: float, right: float) -> float | None:
    try:
        found = _OPERATIONS[op](left, right)
    except (KeyError, ArithmeticError, ValueError):
        return None
    return found if isinstance(found, (int, float)) else None
