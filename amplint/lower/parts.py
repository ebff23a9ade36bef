"""Which models of a module may have parameters in common: one is made of another, or handed to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from amplint.flow import program as ir
from amplint.lower.names import reads, walk

_COPIES = frozenset({"load_state_dict", "copy_", "deepcopy"})


def parts(body: Iterable[ir.Stmt], methods: Mapping[str, frozenset[str]]) -> frozenset[frozenset[str]]:
    """The pairs of names of models that are mentioned together where one of them is made or given something."""
    models = {name for name, used in methods.items() if used & {"parameters", "named_parameters"}}
    found = (pair for statement in body for node in walk(statement) for pair in _together(node, models))
    return frozenset(found) if len(models) > 1 else frozenset()


def _together(node: object, models: set[str]) -> Iterator[frozenset[str]]:
    if isinstance(node, ir.Assign):
        for target, value in _side_by_side(node.target, node.value):
            yield from _pairs(reads(target) & models, reads(value) & models)
        return
    if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and node.func.name not in _COPIES:
        handed = (*node.args, *(value for _, value in node.keywords))
        made = reads(node.func.owner) & models
        of = {part for value in handed if not isinstance(value, ir.Call) for part in reads(value)} & models
        yield from _pairs(made, of)


def _side_by_side(target: ir.Expr, value: ir.Expr) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """What is bound to what: `a, b = c, d` binds each to its own."""
    if isinstance(target, ir.Display) and isinstance(value, ir.Display) and len(target.items) == len(value.items):
        yield from zip(target.items, value.items, strict=True)
    else:
        yield target, value


def _pairs(made: Iterable[str], of: set[str]) -> Iterator[frozenset[str]]:
    return (frozenset({one, other}) for one in made for other in of - {one})
