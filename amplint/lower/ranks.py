"""What a module does about other processes: which names wrap models, and what it does by hand."""

from __future__ import annotations

from collections.abc import Iterable

from amplint.dialects import DIALECTS
from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import binds, last, walk

_WRAPPERS = frozenset(name for dialect in DIALECTS for name in dialect.wrappers)
_CLASSES = frozenset(name.rpartition(".")[2] for name in _WRAPPERS)
_DEFERS = within(words.DEFERRING)
SWITCH = "require_backward_grad_sync"
_COLLECTS, _OF_GRADIENTS = within(words.COLLECTING), within(words.GRADIENTS)
_COMBINES = within(words.COLLECTING, words.SYNCHRONIZING)
_COLLECTIVES = frozenset({"all_reduce", "reduce", "all_reduce_", "allreduce", "all_gather", "reduce_scatter"})


def _combines(name: str) -> bool:
    """Whether a function is called as if it put the gradients of several ranks together."""
    return _COMBINES(name) and _OF_GRADIENTS(name)


def wrapping(body: Iterable[ir.Stmt]) -> frozenset[str]:
    """The names under which a module calls the wrappers; none where it uses none."""
    nodes = [node for statement in body for node in walk(statement)]
    bound = {node.name for node in nodes if isinstance(node, ir.Import) and node.qualified in _WRAPPERS}
    called = {last(node.func) for node in nodes if isinstance(node, ir.Call)}
    return frozenset(called & (bound | _CLASSES))


def wrapped(body: Iterable[ir.Stmt], wrappers: frozenset[str]) -> frozenset[str]:
    """The names that may be bound to what a wrapper made, in the module or in a function of it that returns that."""
    names: set[str] = set()
    makers, before = set(wrappers), -1
    nodes = [node for statement in body for node in walk(statement)] if wrappers else []
    made = [node for node in nodes if isinstance(node, ir.Assign)]
    functions = [node for node in nodes if isinstance(node, ir.Function)]
    while before < len(names) + len(makers):
        before = len(names) + len(makers)
        names |= {name for node in made if _gives(node.value, makers, names) for name in binds(node.target)}
        makers |= {node.name for node in functions if _returns(node, makers, names)}
    return frozenset(names)


def _gives(node: ir.Expr, makers: set[str], names: set[str]) -> bool:
    """Whether a value may be a wrapped model: what a maker made, or such a model under another name or compiled."""
    calls = [part for part in walk(node) if isinstance(part, ir.Call)]
    compiled = any(last(call.func) == "compile" and names & set(map(last, call.args)) for call in calls)
    return compiled or last(node) in names or any(last(call.func) in makers for call in calls)


def _returns(function: ir.Function, makers: set[str], names: set[str]) -> bool:
    returned = [node.value for node in walk(function) if isinstance(node, ir.Return) and node.value is not None]
    parts = [part for value in returned for part in (value.items if isinstance(value, ir.Display) else (value,))]
    return any(_gives(part, makers, names) for part in parts)


def by_hand(body: Iterable[ir.Stmt]) -> frozenset[str]:
    """`defers`: some name speaks of gradients that are not reduced, other than a `no_sync` that is entered where it is
    made; `reduces`: gradients are reduced by hand; `gathers`: what other ranks have is gathered; `collects`: or
    reduced.
    """
    nodes = [node for statement in body for node in walk(statement)]
    entered = {
        id(node.context.func) for node in nodes if isinstance(node, ir.With) and isinstance(node.context, ir.Call)
    }
    names = {str(getattr(node, "name", "") or getattr(node, "text", "")) for node in nodes if id(node) not in entered}
    called = {last(node.func) for node in nodes if isinstance(node, ir.Call)}
    reduces = any(map(_combines, called)) or (called & _COLLECTIVES and names & {"grad", "main_grad"})
    defers = any(map(_DEFERS, names))
    gathers = any("gather" in name.lower() for name in called)
    collects = any(map(_COLLECTS, called))
    found = {"defers": defers, "reduces": reduces, "gathers": gathers, "collects": collects}
    return frozenset(name for name, holds in found.items() if holds)
