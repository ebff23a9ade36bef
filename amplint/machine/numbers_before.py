"""The numbers that a function computes before a call in it that is looked at by itself."""

from __future__ import annotations

from collections.abc import Iterator

from amplint.flow import program as ir
from amplint.flow.spelling import inside, spelled

_COMPUTES = frozenset({"float", "int", "len", "max", "min", "round", "math.ceil", "math.floor", "ceil", "floor"})


def numbers_before(function: ir.Function, value: ir.Expr) -> Iterator[tuple[str, ir.Expr]]:
    """The local names that a call reads, directly or through others, each with the number it is bound to, in order;
    none that is bound more than once, or to anything but arithmetic."""
    bound: dict[str, list[ir.Expr | None]] = {}
    for node in inside(function.body):
        if isinstance(node, ir.Assign | ir.Augment) and isinstance(node.target, ir.Name):
            plain = isinstance(node, ir.Assign) and _is_number(node.value)
            bound.setdefault(node.target.name, []).append(node.value if plain else None)
    known = {name: values[0] for name, values in bound.items() if len(values) == 1 and values[0] is not None}
    wanted, waiting = set[str](), [value]
    while waiting:
        read = {node.name for node in inside(waiting.pop()) if isinstance(node, ir.Name)} & known.keys() - wanted
        wanted |= read
        waiting += [known[name] for name in read]
    yield from ((name, number) for name, number in known.items() if name in wanted)


def _is_number(node: ir.Expr) -> bool:
    """Whether an expression is arithmetic on settings: nothing happens when it is evaluated."""
    if isinstance(node, ir.Binary):
        return _is_number(node.left) and _is_number(node.right)
    if isinstance(node, ir.Call):
        return not node.keywords and spelled(node.func) in _COMPUTES and all(map(_is_number, node.args))
    return isinstance(node, ir.Const | ir.Name | ir.Attr | ir.Item)
