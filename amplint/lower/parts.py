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
        made, of = reads(node.target) & models, reads(node.value) & models
    elif isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and node.func.name not in _COPIES:
        handed = (*node.args, *(value for _, value in node.keywords))
        made = reads(node.func.owner) & models
        of = {part for value in handed if not isinstance(value, ir.Call) for part in reads(value)} & models
    else:
        return
    yield from (frozenset({one, other}) for one in made for other in of - {one})
