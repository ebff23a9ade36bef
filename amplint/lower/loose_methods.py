"""Methods of an object that are values: given to `partial`, put into a list, handed to a function, and called later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import binds, last, walk

_EVENTS = frozenset("backward unscale_ zero_grad".split())
_STEPS, _UPDATES = within(words.OPTIMIZER, words.SCALER, words.SCHEDULER, "lr"), within(words.SCALER)
_LATER = frozenset({"callback", "push"})
_KEEPING = frozenset("add append callback extend insert push register setdefault".split())


def loose_methods(body: Iterable[ir.Stmt]) -> list[tuple[ir.Call, frozenset[str]]]:
    """A call of each method that is a value somewhere, and the names by which that value may be called."""
    nodes = [node for statement in body for node in walk(statement)]
    values = [(value, _names(part, nodes)) for part, value in _loose(nodes)]
    return [(ir.Call(value.at, value, (), ()), names) for value, names in values if names]


def handed(body: Iterable[ir.Stmt]) -> list[ir.Attr]:
    """The methods of objects that are values somewhere."""
    return [value for _, value in _loose([node for statement in body for node in walk(statement)])]


def _loose(nodes: list[object]) -> Iterator[tuple[int, ir.Attr]]:
    """What is called like a part of the step, and is neither called where it stands nor set."""
    called = {id(node.func) for node in nodes if isinstance(node, ir.Call)}
    called |= {id(node.target) for node in nodes if isinstance(node, ir.Assign | ir.Augment | ir.For)}
    called |= {id(node.owner) for node in nodes if isinstance(node, ir.Attr | ir.Item)}
    for node in nodes:
        if isinstance(node, ir.Attr) and id(node) not in called and _is_event(node.name, last(node.owner)):
            yield id(node), node


def _is_event(method: str, owner: str) -> bool:
    """Whether a method is a part of the step; what is called `step` may be a number, unless its owner says no."""
    return method in _EVENTS or (method == "step" and _STEPS(owner)) or (method == "update" and _UPDATES(owner))


def _names(value: int, nodes: list[object]) -> frozenset[str]:
    """The names that a value goes by, found again and again until there are no more."""
    found: set[str] = set()
    params = {node.name: node.params for node in nodes if isinstance(node, ir.Function)}
    params |= {node.name: _constructor(node) for node in nodes if isinstance(node, ir.Class)}
    while more := {name for node in nodes for name in _bound(node, value, found, params)} - found - {""}:
        found |= more
    return frozenset(found)


def _constructor(node: ir.Class) -> tuple[ir.Param, ...]:
    made = (child for child in node.body if isinstance(child, ir.Function) and child.name == "__init__")
    return next((found.params[1:] for found in made), ())


def _bound(node: object, value: int, names: set[str], params: dict[str, tuple[ir.Param, ...]]) -> Iterator[str]:
    """The names that a statement, a loop or a call gives to something that is the value or holds it."""
    if isinstance(node, ir.Assign) and _holds(node.value, value, names):
        yield from binds(node.target)
    elif isinstance(node, ir.For | ir.Comprehension) and _holds(node.source, value, names):
        yield from binds(node.target)
    elif isinstance(node, ir.Call):
        if last(node.func) in _LATER and any(_holds(arg, value, names) for arg in node.args):
            yield last(node.func)  # it is called where nothing is written, when what it was given to is left
        own = params.get(last(node.func), ())
        yield from (one.name for one, arg in zip(own, node.args, strict=False) if _holds(arg, value, names))
        yield from (name for name, arg in node.keywords if name and _holds(arg, value, names))
        if last(node.func) in _KEEPING and isinstance(node.func, ir.Attr):
            yield from (last(node.func.owner) for arg in node.args if _holds(arg, value, names))


def _holds(node: ir.Expr, value: int, names: set[str]) -> bool:
    """Whether an expression hands on a value, by itself or by one of its names: not what calling that gives."""
    stack: list[object] = [node]
    while stack:
        part = stack.pop()
        if id(part) == value or (isinstance(part, ir.Name | ir.Attr) and part.name in names):
            return True
        if isinstance(part, ir.Call):
            stack += [*part.args, *(arg for _, arg in part.keywords), *part.starred]
        elif isinstance(part, ir.Display):
            stack += part.items
        elif isinstance(part, ir.Mapping):
            stack += [item for _, item in part.items]
        elif isinstance(part, ir.Choice):
            stack += [part.yes, part.no]
        elif isinstance(part, ir.Item):
            stack.append(part.owner)
        elif isinstance(part, ir.Binary):
            stack += [part.left, part.right]
    return False
