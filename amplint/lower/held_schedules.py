"""The names of schedules that a module makes of public classes, of what holds one, and of what is handed one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.dialects import vocabulary as words
from amplint.dialects.constructors import role_of
from amplint.dialects.dialect import Role
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import binds, imports, last, public_name, walk


def schedules(body: Iterable[ir.Stmt]) -> frozenset[str]:
    """The names under which a schedule is known anywhere in a module: a function calls what it is given by a name of
    its own."""
    nodes = [node for statement in body for node in walk(statement)]
    imported = imports([node for node in nodes if isinstance(node, ir.Import)])
    made = {id(node) for node in nodes if isinstance(node, ir.Call) and _is_schedule(node, imported)}
    if not made:
        return frozenset()
    functions = {node.name: node for node in nodes if isinstance(node, ir.Function)}
    functions |= {node.name: begin for node in nodes if isinstance(node, ir.Class) for begin in _begins(node)}
    found: set[str] = set()
    while True:
        more = {name for node in nodes for name in _named(node, functions, made, found)} - found - {""}
        if not more:
            return frozenset(found)
        found |= more


def movers(body: Iterable[ir.Stmt], names: frozenset[str]) -> frozenset[ir.Span]:
    """Where anything in a module, run or not, may step a schedule: one of these names, or what is called like one."""
    nodes = (node for statement in body for node in walk(statement) if isinstance(node, ir.Attr))
    stepped = ((node, last(node.owner)) for node in nodes if node.name.startswith("step"))
    return frozenset(node.at for node, owner in stepped if owner in names or _SCHEDULER(owner))


_SCHEDULER = within(words.SCHEDULER)


def _is_schedule(call: ir.Call, imported: dict[str, str]) -> bool:
    return role_of(public_name(call.func, imported)) is Role.SCHEDULER


def _begins(klass: ir.Class) -> Iterator[ir.Function]:
    return (node for node in klass.body if isinstance(node, ir.Function) and node.name == "__init__")


def _named(node: object, functions: dict[str, ir.Function], made: set[int], known: set[str]) -> Iterator[str]:
    """The names that a statement or a call gives to a schedule, or to what holds or returns one."""
    pairs: list[tuple[ir.Expr | None, ir.Expr]] = []
    if isinstance(node, ir.Assign):
        pairs = list(_pairs(node.target, node.value))
    elif isinstance(node, (ir.For, ir.Comprehension)):
        pairs = [(node.target, node.source)]
    elif isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and node.func.name in _TAKES_IN:
        pairs = [(node.func.owner, value) for value in node.args]
    for target, value in pairs:
        if target is not None and any(_is_one(part, made, known) for part in _held(value)):
            yield from binds(target) | {last(target)}
    if isinstance(node, ir.Function):
        returned = (part.value for part in walk(node) if isinstance(part, ir.Return) and part.value is not None)
        if any(_is_one(part, made, known) for value in returned for part in _held(value)):
            yield node.name
    elif isinstance(node, ir.Call) and (function := functions.get(last(node.func))) is not None:
        params = [param.name for param in function.params if param.name != "self"]
        handed = [*zip(params, node.args, strict=False), *node.keywords]
        yield from (name for name, value in handed if any(_is_one(part, made, known) for part in _held(value)))


_TAKES_IN = frozenset({"append", "add"})


def _pairs(target: ir.Expr, value: ir.Expr) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """What is bound to what, one by one; what is handed through a call comes back in the order of its arguments."""
    values = value.items if isinstance(value, ir.Display) else value.args if isinstance(value, ir.Call) else ()
    if isinstance(target, ir.Display) and len(target.items) == len(values):
        yield from zip(target.items, values, strict=True)
    else:
        yield target, value


def _is_one(node: ir.Expr, made: set[int], known: set[str]) -> bool:
    named = node.func if isinstance(node, ir.Call) else node
    return id(node) in made or (isinstance(named, (ir.Name, ir.Attr)) and named.name in known)


def _held(value: ir.Expr) -> Iterator[ir.Expr]:
    """A value, and what is in it where it is put together of others, or is one of several."""
    yield value
    inner: tuple[ir.Expr, ...] = ()
    if isinstance(value, ir.Display):
        inner = value.items
    elif isinstance(value, ir.Mapping):
        inner = tuple(one for _, one in value.items)
    elif isinstance(value, ir.Choice):
        inner = (value.yes, value.no)
    elif isinstance(value, ir.Call) and last(value.func)[:1].isupper():
        inner = (*value.args, *(one for _, one in value.keywords))
    for one in inner:
        yield from _held(one)
