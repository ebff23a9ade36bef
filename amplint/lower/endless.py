"""Functions that hand out values for ever.

A generator does whose `while True` is never left, a `__next__` that begins anew where what it draws from has come to an
end, and a function that returns what such a one hands out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from amplint.flow import program as ir
from amplint.lower.names import last, walk

Body = tuple[ir.Stmt, ...]
_ROUND_AND_ROUND = frozenset({"cycle", "count"})
"""Functions of `itertools` whose values have no end, whatever they are given."""


def endless(body: Iterable[ir.Stmt]) -> frozenset[int]:
    """The functions of a module, and the methods of its classes, whose values never come to an end, by identity."""
    nodes = tuple(body)
    own = tuple(node for node in nodes if isinstance(node, ir.Function))
    found = frozenset(map(id, _of_suite(own)))
    classes = (node for node in nodes if isinstance(node, ir.Class))
    return found.union(*(endless(node.body) for node in classes))


def _of_suite(functions: tuple[ir.Function, ...]) -> list[ir.Function]:
    """Those of the functions beside each other that never end, by what they do and by whom they return."""
    found: list[ir.Function] = []
    names: Set[str] = _ROUND_AND_ROUND
    while fresh := [one for one in functions if one not in found and _never_ends(one, names)]:
        found += fresh
        names = names | {one.name for one in fresh}
    return found


def _never_ends(function: ir.Function, names: Set[str]) -> bool:
    if function.generator:
        return any(_goes_on(node, names) for node in _straight(function.body))
    if function.name == "__next__":
        return _begins_anew(function)
    values = [node.value for node in _all(function.body) if isinstance(node, ir.Return)]
    return bool(values) and all(value is not None and _hands_on(value, names) for value in values)


def _straight(body: Body) -> Iterator[ir.Stmt]:
    """The statements that are reached whatever is asked."""
    for node in body:
        yield node
        if isinstance(node, ir.With):
            yield from _straight(node.body)


def _goes_on(node: ir.Stmt, names: Set[str]) -> bool:
    """Whether a statement of a generator hands out values and is never done."""
    if isinstance(node, ir.While):
        return isinstance(node.test, ir.Const) and bool(node.test.value) and _is_kept_in(node.body)
    if isinstance(node, ir.For):
        return _hands_on(node.source, names) and _is_kept_in(node.body)
    return isinstance(node, ir.Do) and isinstance(node.value, ir.Yield) and _hands_on(node.value.value, names)


def _is_kept_in(body: Body) -> bool:
    """Whether no statement of a loop leaves it."""
    returns = any(isinstance(node, ir.Return) for node in _all(body))
    return not returns and not any(_breaks(node) for node in body)


def _breaks(node: ir.Stmt) -> bool:
    """Whether a statement leaves the loop that it stands in: a `break` of an inner loop leaves that one."""
    if isinstance(node, ir.Leave):
        return node.how == "break"
    if isinstance(node, (ir.For, ir.While)):
        return any(map(_breaks, node.orelse))
    if isinstance(node, ir.Try):
        return any(map(_breaks, (*node.body, *(one for handler in node.handlers for one in handler), *node.orelse)))
    if isinstance(node, ir.If):
        return any(map(_breaks, (*node.body, *node.orelse)))
    return isinstance(node, ir.With) and any(map(_breaks, node.body))


def _begins_anew(function: ir.Function) -> bool:
    """Whether a `__next__` catches the end of what it draws from, and raises nothing itself."""
    nodes = list(_all(function.body))
    caught = any(isinstance(node, ir.Try) and "StopIteration" in node.catches for node in nodes)
    return caught and not any(isinstance(node, ir.Leave) and node.how == "raise" for node in nodes)


def _hands_on(value: ir.Expr, names: Set[str]) -> bool:
    """Whether a value is what one of some functions returns, or the object itself, which hands out its own."""
    if isinstance(value, ir.Name):
        return value.name == "self" and "__next__" in names
    if not isinstance(value, ir.Call):
        return False
    within = value.args[:1] if last(value.func) in ("iter", "from_iterable", "map", "enumerate") else ()
    return last(value.func) in names or any(_hands_on(one, names) for one in within)


def _all(body: Body) -> Iterator[object]:
    return (node for statement in body for node in walk(statement))
