"""What a module does about other processes: which names wrap models, and what it does by hand."""

from __future__ import annotations

import builtins
from collections.abc import Iterable

from amplint.dialects import DIALECTS
from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import names_tokens, within
from amplint.flow import program as ir
from amplint.lower.carried import carried
from amplint.lower.names import binds, imports, last, public_name, walk

_WRAPPERS = frozenset(name for dialect in DIALECTS for name in dialect.wrappers)
_CLASSES = frozenset(name.rpartition(".")[2] for name in _WRAPPERS)
_DEFERS = within(words.DEFERRING)
SWITCH = "require_backward_grad_sync"
_COLLECTS, _OF_GRADIENTS = within(words.COLLECTING), within(words.GRADIENTS)
_REDUCES, _SYNCHRONIZES = within(words.REDUCING), within(words.SYNCHRONIZING)
_AVERAGES, _OF_WEIGHTS, _MODEL = within(words.AVERAGING_PACKAGES), within(words.AVERAGE), within(words.MODEL)
_PUTS_TOGETHER = within(words.AVERAGING)
_COUNTS = within("count counts num number len numel get tensor")
_MEASURED = frozenset({"reset", "update", "add", "append", "result", "compute", "item"})
_COMBINES = within(words.COLLECTING, words.SYNCHRONIZING)
_HANDS_ON, _OF_RATES = within("broadcast bcast scatter sync synchronize"), within(words.OF_RATES)
_COLLECTIVES = frozenset({"all_reduce", "reduce", "all_reduce_", "allreduce", "all_gather", "reduce_scatter"})


def _combines(name: str) -> bool:
    """Whether a function is called as if it put the gradients of several ranks together."""
    return _COMBINES(name) and _OF_GRADIENTS(name)


def _may_reduce(node: object) -> bool:
    """Whether code that is not seen may reduce gradients: an import of a package that does, or what is called as if it
    did and is handed nothing, or a model."""
    if isinstance(node, ir.Import):
        return _AVERAGES(node.qualified.partition(".")[0])
    name = last(node.func) if isinstance(node, ir.Call) else ""
    if not isinstance(node, ir.Call) or _OF_WEIGHTS(name):
        return False
    handed = [*node.args, *(value for _, value in node.keywords)]
    if not handed:
        return _REDUCES(name) or _PUTS_TOGETHER(name) or _is_reducer(node.func)
    models = any(_MODEL(last(value)) or last(value) in ("net", "parameters") for value in handed)
    return models and (_REDUCES(name) or _is_reducer(node.func))


def _is_reducer(func: ir.Expr) -> bool:
    """Whether a method is one of a reducer."""
    return isinstance(func, ir.Attr) and _REDUCES(last(func.owner)) and func.name not in _MEASURED


def _synchronizes(node: object) -> bool:
    """Whether a block may reduce gradients where it ends, as far as its name tells."""
    context = node.context if isinstance(node, ir.With) else None
    name = last(context.func) if isinstance(context, ir.Call) else last(context)
    return (_REDUCES(name) or _SYNCHRONIZES(name)) and not _DEFERS(name)


def _totals(node: object, defined: frozenset[str]) -> bool:
    """Whether a number of tokens comes from a function that is not seen and does not say that it counts."""
    if not isinstance(node, ir.Assign) or not names_tokens(last(node.target)):
        return False
    calls = [part for part in walk(node.value) if isinstance(part, ir.Call) and isinstance(part.func, ir.Name)]
    names = {last(call.func) for call in calls}
    return any(not (name in defined or hasattr(builtins, name) or _COUNTS(name)) for name in names)


def _defined(nodes: Iterable[object]) -> frozenset[str]:
    """The functions and classes of a module."""
    return frozenset(node.name for node in nodes if isinstance(node, (ir.Function, ir.Class)))


def asked(body: Iterable[ir.Stmt]) -> dict[str, set[str]]:
    """What it is asked of whether a wrapper wraps it, with the public names of the wrappers."""
    nodes = [node for statement in body for node in walk(statement)]
    imported = imports(nodes)
    found: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ir.Call) and last(node.func) == "isinstance" and len(node.args) == 2:
            wrappers = {public_name(node.args[1], imported)} & _WRAPPERS
            if wrappers:
                found.setdefault(last(node.args[0]), set()).update(wrappers)
    return found


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
    reduced; `hands_rates`: what one rank knows of the learning rates may be handed to the others.
    """
    nodes = [node for statement in body for node in walk(statement)]
    entered = {
        id(node.context.func) for node in nodes if isinstance(node, ir.With) and isinstance(node.context, ir.Call)
    }
    names = {str(getattr(node, "name", "") or getattr(node, "text", "")) for node in nodes if id(node) not in entered}
    called = {last(node.func) for node in nodes if isinstance(node, ir.Call)}
    reduces = any(map(_combines, called)) or _reduces_gradients(body, nodes)
    defers = any(map(_DEFERS, names))
    reduces = reduces or any(map(_may_reduce, nodes)) or (not defers and any(map(_synchronizes, nodes)))
    gathers = any("gather" in name.lower() for name in called)
    defined = _defined(nodes)
    collects = any(map(_COLLECTS, called)) or any(_totals(node, defined) for node in nodes)
    found = {"defers": defers, "reduces": reduces, "gathers": gathers, "collects": collects}
    found["hands_rates"] = any(map(_HANDS_ON, called)) and _hands_rates(nodes)
    return frozenset(name for name, holds in found.items() if holds)


def _reduces_gradients(body: Iterable[ir.Stmt], nodes: Iterable[object]) -> bool:
    """Whether a collective operation is handed gradients, or what was computed of them."""
    calls = [node for node in nodes if isinstance(node, ir.Call) and last(node.func) in _COLLECTIVES]
    known = carried(body, _is_gradient, walk) if calls else frozenset()
    handed = [value for call in calls for value in (*call.args, *(value for _, value in call.keywords))]
    return any(_is_gradient(part) or last(part) in known for value in handed for part in walk(value))


def _is_gradient(node: object) -> bool:
    return isinstance(node, ir.Attr) and node.name in ("grad", "main_grad")


def _hands_rates(nodes: Iterable[object]) -> bool:
    """Whether what is handed from one rank to the others may be a learning rate, or the state of what holds one."""
    for node in nodes:
        if isinstance(node, ir.Call) and _HANDS_ON(last(node.func)):
            parts = [node.func, *node.args, *(value for _, value in node.keywords)]
            if any(_OF_RATES(str(getattr(one, "name", ""))) for part in parts for one in walk(part)):
                return True
        target = node.target if isinstance(node, ir.Assign | ir.Augment) else None
        if isinstance(target, ir.Item) and isinstance(target.index, ir.Const) and target.index.value == "lr":
            return True
    return False
