"""The names that optimizers are given where they are made, and those of what holds one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from amplint.dialects import vocabulary as words
from amplint.dialects.constructors import role_of
from amplint.dialects.dialect import Role
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import binds, imports, last, public_name, walk


def optimizers(body: Iterable[ir.Stmt]) -> Iterator[str]:
    """The names that optimizers have which a module makes of public classes."""
    nodes = [node for statement in body for node in walk(statement) if isinstance(node, (ir.Import, ir.Assign))]
    imported = imports(nodes)
    for node in nodes:
        if isinstance(node, ir.Assign) and isinstance(node.value, ir.Call) and last(node.target):
            if role_of(public_name(node.value.func, imported)) is Role.OPTIMIZER:
                yield last(node.target)


_SCHEDULER = within(words.SCHEDULER, "lr")
_METHODS = frozenset({"step", "zero_grad"})


def holding(body: Iterable[ir.Stmt], plays: Callable[[str], bool]) -> Iterator[str]:
    """The names of mappings that an optimizer or a scaler is put into, of objects that are made with one, and of those
    whose optimizer is stepped or zeroed. `plays`: whether a name is that of an optimizer or a scaler."""
    for node in (node for statement in body for node in walk(statement)):
        if (
            isinstance(node, ir.Assign)
            and _is_put_together(node)
            and any(plays(last(part)) for part in walk(node.value))
        ):
            yield from binds(node.target)
        elif isinstance(node, ir.Attr) and node.name in _METHODS and isinstance(node.owner, ir.Attr):
            if plays(node.owner.name) and last(node.owner.owner):
                yield last(node.owner.owner)


def _is_put_together(node: ir.Assign) -> bool:
    """Whether one thing is made of others, and is no schedule."""
    called = isinstance(node.value, ir.Call) and not _SCHEDULER(last(node.value.func))
    return isinstance(node.value, ir.Mapping) or (called and not isinstance(node.target, ir.Display))
