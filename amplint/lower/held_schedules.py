"""The names of schedules that a module makes of public classes, and of what holds one; where any may be stepped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.dialects import vocabulary as words
from amplint.dialects.constructors import role_of
from amplint.dialects.dialect import Role
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.carried import carried
from amplint.lower.names import imports, last, public_name, walk

_SCHEDULER = within(words.SCHEDULER)


def schedules(body: Iterable[ir.Stmt]) -> frozenset[str]:
    """The names that a schedule goes by anywhere in a module."""
    imported = imports(node for statement in body for node in walk(statement))

    def is_schedule(node: object) -> bool:
        return isinstance(node, ir.Call) and role_of(public_name(node.func, imported)) is Role.SCHEDULER

    return carried(body, is_schedule, _held)


def movers(body: Iterable[ir.Stmt], names: frozenset[str]) -> frozenset[ir.Span]:
    """Where anything in a module, run or not, may step a schedule: one of these names, or what is called like one."""
    nodes = (node for statement in body for node in walk(statement) if isinstance(node, ir.Attr))
    stepped = ((node, last(node.owner)) for node in nodes if node.name.startswith("step"))
    return frozenset(node.at for node, owner in stepped if owner in names or _SCHEDULER(owner))


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
