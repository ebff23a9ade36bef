"""What becomes of an object that is bound to a bare name: which attributes are read of it, and whether it gets away."""

from __future__ import annotations

import re
from collections.abc import Iterator

from amplint.flow import program as ir
from amplint.lower.deeds import Deeds, deeds_of
from amplint.lower.names import children, dotted, last, reaches, walk
from amplint.lower.usage import Usage, usage_of

Body = tuple[ir.Stmt, ...]


def kept(body: Body, wanted: set[ir.Span]) -> dict[ir.Span, tuple[frozenset[str], bool]]:
    """Per call (of those wanted) whose result has one bare name: the attributes that are read of that name,
    and whether an optimizer steps where the name lives, or that of an object which the call is given, with gradients:
    a rate that is only drawn has none. An object that goes anywhere else is left out: it is returned, passed on or put
    into something.
    """
    if not wanted:
        return {}
    usage = usage_of(body)
    deeds = deeds_of(body, usage)
    found: dict[ir.Span, tuple[frozenset[str], bool]] = {}
    for scope in _scopes(body):
        steps = any(isinstance(part, ir.Call) and usage.steps(part) for node in scope for part in walk(node))
        steps = steps or any(reaches(node, usage.driven) & deeds.stepping for node in scope)
        bound = _bound(scope, wanted)
        drawn = _drawn(scope, usage, deeds) if bound else {}
        for name, calls in bound.items():
            reads = _reads(scope, name)
            if reads is not None and len(calls) == 1:
                given = _given_first(scope, calls[0])
                here = steps and not drawn.get(last(given), False)
                found[calls[0]] = (reads, here or _steps_elsewhere(body, given))
    return found


def _steps_elsewhere(body: Body, optimizer: ir.Expr | None) -> bool:
    """Whether an optimizer that an object keeps is stepped in a module which back-propagates."""
    if not isinstance(optimizer, ir.Attr) or not dotted(optimizer).startswith("self."):
        return False
    calls = [part for node in body for part in walk(node) if isinstance(part, ir.Call)]
    steps = any(dotted(call.func) == f"{dotted(optimizer)}.step" for call in calls)
    return steps and any(last(call.func) == "backward" for call in calls)


def _drawn(scope: Body, usage: Usage, deeds: Deeds) -> dict[str, bool]:
    """Per name of what steps in a loop, whether nothing goes back in any of those loops."""
    found: dict[str, bool] = {}
    for loop in (part for node in scope for part in walk(node) if isinstance(part, (ir.For, ir.While))):
        calls = [part for part in walk(loop) if isinstance(part, ir.Call) and isinstance(part.func, ir.Attr)]
        still = not reaches(loop, usage.driven) & deeds.going_back
        still = still and not any("backward" in last(call.func) for call in calls)
        for call in calls:
            if last(call.func) == "step" and isinstance(call.func, ir.Attr):
                name = last(call.func.owner)
                found[name] = found.get(name, True) and still and not call.args
    return found


def _given_first(scope: Body, at: ir.Span) -> ir.Expr | None:
    """What a call is given first."""
    made = (part for node in scope for part in walk(node) if isinstance(part, ir.Call) and part.at == at)
    return next((call.args[0] for call in made if call.args), None)


def _scopes(body: Body) -> Iterator[Body]:
    """The module and every function, each with what is defined inside it."""
    yield body
    for statement in body:
        for node in walk(statement):
            if isinstance(node, ir.Function):
                yield node.body


def _bound(scope: Body, wanted: set[ir.Span]) -> dict[str, list[ir.Span]]:
    """The names of a scope itself that calls are bound to, with those calls."""
    found: dict[str, list[ir.Span]] = {}
    names: dict[ir.Span, int] = {}
    foreign: set[str] = set()
    stack: list[object] = list(scope)
    while stack:
        node = stack.pop()
        if isinstance(node, ir.Global):
            foreign |= set(node.names)
        if isinstance(node, ir.Assign) and node.value.at in wanted:
            names[node.value.at] = names.get(node.value.at, 0) + 1
            if isinstance(node.target, ir.Name):
                found.setdefault(node.target.name, []).append(node.value.at)
        if isinstance(node, ir.STATEMENTS) and not isinstance(node, (ir.Function, ir.Class)):
            stack += children(node)
    return {
        name: calls for name, calls in found.items() if name not in foreign and all(names[call] == 1 for call in calls)
    }


def _reads(scope: Body, name: str, above: frozenset[str] = frozenset()) -> frozenset[str] | None:
    """The attributes that are read of a name, or of another one that it is bound to; None when it gets away."""
    word = re.compile(rf"(?<![\w.]){re.escape(name)}(?:\.(\w+))?(?!\w)")
    found: set[str] = set()
    stack: list[object] = list(scope)
    while stack:
        node = stack.pop()
        if isinstance(node, ir.Name) and node.name == name:
            return None
        if isinstance(node, ir.Text):
            inside = [match[1] for match in word.finditer(node.text)]
            if not all(inside):
                return None
            found |= set(inside)
        elif isinstance(node, ir.Attr) and _is(node.owner, name):
            found.add(node.name)
        elif isinstance(node, ir.Assign) and _is(node.target, name):
            stack.append(node.value)
        elif isinstance(node, ir.Assign) and _is(node.value, name) and isinstance(node.target, ir.Name):
            other = node.target.name
            further = frozenset[str]() if other in above else _reads(scope, other, above | {name})
            if further is None:
                return None
            found |= further
        elif isinstance(node, (ir.Compare, ir.If)):
            parts = [child for child in children(node) if not _is(child, name)]  # whether there is one
            stack += parts
        else:
            stack += children(node)
    return frozenset(found)


def _is(node: object, name: str) -> bool:
    return isinstance(node, ir.Name) and node.name == name
