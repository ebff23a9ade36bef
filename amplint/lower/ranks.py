"""What a module does about other processes: which names wrap models, and what it does by hand."""

from __future__ import annotations

import re
from collections.abc import Iterable

from amplint.dialects import DIALECTS
from amplint.flow import program as ir
from amplint.lower.names import binds, last, walk

_WRAPPERS = frozenset(name for dialect in DIALECTS for name in dialect.wrappers)
_CLASSES = frozenset(name.rpartition(".")[2] for name in _WRAPPERS)
_DEFERS = re.compile(r"(?i)no_?sync|grad\w*_sync\b|skip_sync|no_backward_sync|fully_shard")
SWITCH = "require_backward_grad_sync"
_REDUCES = re.compile(r"(?i)(reduce|sync|average|gather)\w*grad|grad\w*(reduce|sync|average)")
_COLLECTIVES = frozenset({"all_reduce", "reduce", "all_reduce_", "allreduce", "all_gather", "reduce_scatter"})


def wrapping(body: Iterable[ir.Stmt]) -> frozenset[str]:
    """The names under which a module calls the wrappers; none where it uses none."""
    nodes = [node for statement in body for node in walk(statement)]
    bound = {node.name for node in nodes if isinstance(node, ir.Import) and node.qualified in _WRAPPERS}
    called = {last(node.func) for node in nodes if isinstance(node, ir.Call)}
    return frozenset(called & (bound | _CLASSES))


def wrapped(body: Iterable[ir.Stmt], wrappers: frozenset[str]) -> frozenset[str]:
    """The names that are bound to what a wrapper made."""
    if not wrappers:
        return frozenset()
    made = (node for statement in body for node in walk(statement) if isinstance(node, ir.Assign))
    return frozenset(name for node in made if _calls(node.value) & wrappers for name in binds(node.target))


def _calls(node: ir.Expr) -> set[str]:
    return {last(part.func) for part in walk(node) if isinstance(part, ir.Call)}


def by_hand(body: Iterable[ir.Stmt]) -> frozenset[str]:
    """`defers`: some name speaks of gradients that are not reduced; `reduces`: gradients are reduced by hand."""
    nodes = [node for statement in body for node in walk(statement)]
    names = {str(getattr(node, "name", "") or getattr(node, "text", "")) for node in nodes}
    called = {last(node.func) for node in nodes if isinstance(node, ir.Call)}
    reduces = any(map(_REDUCES.search, called)) or (called & _COLLECTIVES and names & {"grad", "main_grad"})
    defers = any(map(_DEFERS.search, names))
    return frozenset(["defers"] * defers + ["reduces"] * bool(reduces))
