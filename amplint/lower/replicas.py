"""Models that `nn.DataParallel` replicates, and the autocast regions in which they are called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.dialects.methods import RUNS_AS_BEFORE
from amplint.dialects.syntax import AUTOCASTS, BFLOAT16, REPLICATES
from amplint.flow import program as ir
from amplint.lower.names import binds, last, walk
from amplint.lower.scopes import Scope


def replicated(body: Iterable[ir.Stmt], scope: Scope) -> frozenset[str]:
    """The names that are given a `DataParallel`; none where some `forward` enters an autocast of its own."""
    nodes = [node for statement in body for node in walk(statement)]
    if any(isinstance(node, ir.Function) and node.name == "forward" and _enters(node) for node in nodes):
        return frozenset()
    made = (node for node in nodes if isinstance(node, ir.Assign))
    return frozenset(
        name
        for node in made
        if any(_replicates(one, scope) for one in _results(node.value))
        for name in binds(node.target)
    )


def _results(value: ir.Expr) -> Iterator[ir.Expr]:
    """What an expression may be, or may have been before its own methods put it elsewhere: `DataParallel(m).cuda()`."""
    yield value
    if isinstance(value, ir.Choice):
        yield from _results(value.yes)
        yield from _results(value.no)
    elif isinstance(value, ir.Call) and isinstance(value.func, ir.Attr) and value.func.name in RUNS_AS_BEFORE:
        yield from _results(value.func.owner)


def _replicates(value: ir.Expr, scope: Scope) -> bool:
    return isinstance(value, ir.Call) and scope.qualified(value.func) in REPLICATES and not _on_one_device(value)


def _on_one_device(call: ir.Call) -> bool:
    """Whether a `DataParallel` starts no thread, as its devices are one (torch 2.13, `data_parallel.py`, `forward`)."""
    devices = dict(call.keywords).get("device_ids", call.args[1] if len(call.args) > 1 else None)
    return isinstance(devices, ir.Display) and len(devices.items) == 1


def _enters(function: ir.Function) -> bool:
    return any(isinstance(node, (ir.Name, ir.Attr)) and "autocast" in node.name for node in walk(function))


def replicas_called(node: ir.With, scope: Scope, models: frozenset[str]) -> bool:
    """Whether one of the models is called in a region that may be autocast to bfloat16."""
    context = node.context
    if not models or not isinstance(context, ir.Call) or scope.qualified(context.func) not in AUTOCASTS:
        return False
    dtype = dict(context.keywords).get("dtype")
    if dtype is None or BFLOAT16.isdisjoint(scope.possible(dtype)):
        return False
    called = (part for child in node.body for part in walk(child) if isinstance(part, ir.Call))
    return any(last(call.func) in models for call in called)
