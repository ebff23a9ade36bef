"""Models that are known to be FSDP1's by what is asked of them elsewhere, clipped by torch's own function.

The class that wraps a model may stand in any file; but whoever hands a model to a function that gathers the shards of
its optimizer's state says that it is sharded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.dialects.syntax import CLIPS_OF_NORM, NO_SHARDS, SHARDED
from amplint.flow import program as ir
from amplint.lower.names import dotted, functions, last, reads, speaks_of_shards, walk
from amplint.lower.project import neighbours_of
from amplint.lower.scopes import Scope
from amplint.protocol.events import Site
from amplint.protocol.facts import SHARDED_CLIP, Fact

_GATHERS = frozenset({"full_optim_state_dict", "sharded_optim_state_dict", "optim_state_dict"})

Body = tuple[ir.Stmt, ...]


def clips_of_shards(path: str, body: Body) -> Iterator[Fact]:
    """Every clip by torch's own function of a model that the module knows as FSDP1's."""
    if may_hold(body):
        yield from sharded_clips(path, body, neighbours_of(path, body).bodies.values())


def may_hold(body: Body) -> bool:
    """Whether a module clips by torch's function and says a word of sharding, so that its neighbours are to be read."""
    nodes = [node for statement in body for node in walk(statement)]
    clips = any(isinstance(node, ir.Call) and last(node.func) == "clip_grad_norm_" for node in nodes)
    named = (name for node in nodes if isinstance(node, ir.Call) for name, _ in node.keywords)
    return clips and speaks_of_shards(named)


def sharded_clips(path: str, body: Body, others: Iterable[Body]) -> Iterator[Fact]:
    """The clips of the parameters of a model that the module hands, by keyword, to a function that takes it for a
    sharded one. `others`: the neighbours' statements. Where a strategy without shards is named, nothing is said."""
    bodies = (body, *others)
    if any(map(names_no_shards, bodies)):
        return
    takes = {found for one in bodies for found in _taking(one)}
    calls = [node for statement in body for node in walk(statement) if isinstance(node, ir.Call)]
    handed = {_handed(value) for call in calls for name, value in call.keywords if (last(call.func), name) in takes}
    scope = Scope.of_module(body)
    for _, function in functions(body):
        for call in unasked(function.body):
            if is_known_clip(call, scope) and model_of(call.args[0]) in handed - {""}:
                yield Fact(SHARDED_CLIP, Site(path, *call.at))


def is_known_clip(call: ir.Call, scope: Scope) -> bool:
    """Whether a call is torch's clip of what it is given first."""
    return bool(call.args) and scope.qualified(call.func) in CLIPS_OF_NORM


def names_no_shards(body: Body) -> bool:
    """Whether the strategy without shards is handed to a call, or set, in statements."""
    return any(last(value) == NO_SHARDS for statement in body for node in walk(statement) for value in _given(node))


def _given(node: object) -> Iterator[object]:
    """The values that a call is given by keyword, a name is set to or a mapping holds."""
    if isinstance(node, ir.Assign):
        yield node.value
    elif isinstance(node, ir.Call):
        yield from (value for _, value in node.keywords)
    elif isinstance(node, ir.Mapping):
        yield from (value for _, value in node.items)


def _taking(body: Body) -> Iterator[tuple[str, str]]:
    """The functions that gather the shards of the state of a parameter's optimizer, with that parameter."""
    scope = Scope.of_module(body)
    for _, function in functions(body):
        names = {param.name for param in function.params}
        for call in (node for node in walk(function) if isinstance(node, ir.Call)):
            owner = call.func.owner if isinstance(call.func, ir.Attr) and call.func.name in _GATHERS else None
            known = (scope.qualified(owner) or "") if owner is not None else ""
            if SHARDED.match(known) and call.args:
                yield from ((function.name, name) for name in names & {last(call.args[0])})


def unasked(body: Iterable[ir.Stmt]) -> Iterator[ir.Call]:
    """The calls in statements that stand under no test of whether the model is sharded, nor behind one that leaves."""
    for node in body:
        if isinstance(node, ir.If) and speaks_of_shards(reads(node.test)):
            if any(isinstance(part, (ir.Return, ir.Leave)) for part in (*node.body, *node.orelse)):
                return
            continue
        inside = [getattr(node, name, ()) for name in ("body", "orelse", "final")]
        if isinstance(node, (ir.Function, ir.Class)):
            continue
        if any(inside):
            yield from (call for suite in inside for call in unasked(suite))
        else:
            yield from (part for part in walk(node) if isinstance(part, ir.Call))


def model_of(parameters: ir.Expr) -> str:
    """The model of `model.parameters()`, empty for anything else."""
    called = parameters.func if isinstance(parameters, ir.Call) else None
    return dotted(called.owner) if isinstance(called, ir.Attr) and called.name == "parameters" else ""


def _handed(node: ir.Expr) -> str:
    """What is handed over, by its dotted name; of `model if sharded else None` the model."""
    if isinstance(node, ir.Choice):
        return _handed(node.yes) if isinstance(node.no, ir.Const) and node.no.value is None else ""
    return dotted(node)
