"""What the names of a module stand for, scope by scope, before anything runs.

A name stands for a public one if an import binds it, or an assignment gives it another such name, and nothing else
in its scope binds it. What is bound in more than one way stands for nothing that is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from amplint.flow import program as ir
from amplint.lower.names import children, walk

_VERSIONED = frozenset({"", "ImportError", "ModuleNotFoundError", "AttributeError", "Exception"})
Bound = tuple[ir.Expr | str | None, bool]
"""What binds a name: an expression, the qualified name of an import, or something else; and whether a fallback does."""


class Scope:
    """The names of a module, a class, a function or a comprehension, and of the scopes around it."""

    def __init__(self, bound: dict[str, list[Bound]], outer: Scope | None = None, of_class: bool = False) -> None:
        self.bound, self.outer, self.of_class = bound, outer, of_class

    @staticmethod
    def of_module(body: Iterable[ir.Stmt]) -> Scope:
        """The scope of a module. A name that some function declares global is bound in ways that are not known."""
        nodes = tuple(body)
        bound = bound_in(nodes)
        for statement in nodes:
            for node in walk(statement):
                if isinstance(node, ir.Global):
                    for name in node.names:
                        bound.setdefault(name, []).append((None, False))
        return Scope(bound)

    def inside(self, body: Iterable[ir.Stmt], given: Iterable[str] = (), of_class: bool = False) -> Scope:
        """The scope of a function or a class that stands in this one; `given` are its parameters."""
        bound = bound_in(body)
        for name in given:
            bound.setdefault(name, []).append((None, False))
        return Scope(bound, self.outer if self.of_class and self.outer else self, of_class)

    def binding(self, node: ir.Expr) -> tuple[Scope, Bound] | None:
        """The one thing that binds a bare name, and the scope that it stands in."""
        if not isinstance(node, ir.Name):
            return None
        scope: Scope | None = self
        while scope is not None and node.name not in scope.bound:
            scope = scope.outer
        if scope is None:
            return None
        found = scope.bound[node.name]
        first = found[0]
        same = isinstance(first[0], str) and all(other[0] == first[0] for other in found)
        return (scope, first) if same or len(found) == 1 else None

    def qualified(self, node: object, depth: int = 0) -> str | None:
        """The public name that an expression stands for, through imports and aliases."""
        if isinstance(node, ir.Attr):
            owner = self.qualified(node.owner, depth)
            return None if owner is None else f"{owner}.{node.name}"
        found = self.binding(node) if isinstance(node, ir.Name) else None
        if found is None or depth > 8:
            return None
        scope, (value, _) = found
        return value if isinstance(value, str) else scope.qualified(value, depth + 1)

    def possible(self, node: object, depth: int = 0) -> frozenset[str]:
        """The public names that an expression may stand for: each branch, each assignment in sight."""
        if isinstance(node, ir.Choice):
            return self.possible(node.yes, depth) | self.possible(node.no, depth)
        scope: Scope | None = self
        while isinstance(node, ir.Name) and scope is not None and node.name not in scope.bound:
            scope = scope.outer
        if not isinstance(node, ir.Name) or scope is None or depth > 8:
            name = self.qualified(node)
            return frozenset() if name is None else frozenset({name})
        given = (value for value, _ in scope.bound[node.name] if isinstance(value, ir.Node))
        return frozenset().union(*(scope.possible(value, depth + 1) for value in given))

    def value(self, node: ir.Expr) -> ir.Expr:
        """What a bare name was given, if one assignment in sight gives it and nothing else does; else the node."""
        found = self.binding(node)
        return found[1][0] if found is not None and isinstance(found[1][0], ir.Node) else node

    def falls_back(self, node: object) -> bool:
        """Whether a name comes from an import that may fail, so that the module is ready for other versions."""
        while isinstance(node, ir.Attr):
            node = node.owner
        found = self.binding(node) if isinstance(node, ir.Name) else None
        return found is not None and found[1][1]


def bound_in(body: Iterable[ir.Stmt]) -> dict[str, list[Bound]]:
    """What binds each name in a body; functions and classes inside it have scopes of their own."""
    found: dict[str, list[Bound]] = {}
    for name, value, fallback in _bindings(body, False):
        found.setdefault(name, []).append((value, fallback))
    return found


_Binding = Iterator[tuple[str, ir.Expr | str | None, bool]]


def _bindings(nodes: Iterable[object], fallback: bool) -> _Binding:
    for node in nodes:
        make = _BINDERS.get(type(node))
        if make:
            yield from make(node, fallback)
        if not isinstance(node, (ir.Function, ir.Class, ir.Lambda, ir.Comprehension)):
            tried = isinstance(node, ir.Try) and bool(node.catches & _VERSIONED)
            yield from _bindings(children(node), fallback or tried)


def _assigned(node: ir.Assign, fallback: bool) -> _Binding:
    if isinstance(node.target, ir.Name):
        yield node.target.name, node.value, fallback
    else:
        yield from _targets(node.target, fallback)


def _targets(target: object, fallback: bool) -> _Binding:
    return ((name, None, fallback) for name in names_in(target))


def names_in(target: object) -> Iterator[str]:
    """The bare names that an assignment to `target` binds."""
    if isinstance(target, ir.Name):
        yield target.name
    elif isinstance(target, ir.Display):
        for item in target.items:
            yield from names_in(item)


_BINDERS: dict[type, Callable[..., _Binding]] = {
    ir.Import: lambda node, fallback: iter([(node.name, node.qualified, fallback)]),
    ir.Function: lambda node, fallback: iter([(node.name, None, fallback)]),
    ir.Class: lambda node, fallback: iter([(node.name, None, fallback)]),
    ir.Walrus: lambda node, fallback: iter([(node.name, None, fallback)]),
    ir.Assign: _assigned,
    ir.Augment: lambda node, fallback: _targets(node.target, fallback),
    ir.For: lambda node, fallback: _targets(node.target, fallback),
    ir.With: lambda node, fallback: _targets(node.target, fallback),
}
