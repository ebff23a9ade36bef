"""Losses of a pipeline that are divided when its schedule has already gone back.

`torch.distributed.pipelining` (torch 2.13, `schedules.py`): `step` runs forward and backward of all micro-batches, and
puts their losses into the list that it is handed.
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.flow import program as ir
from amplint.lower.names import binds, functions, last, reads, walk
from amplint.protocol.events import Site
from amplint.protocol.facts import PIPELINED, Fact

Body = tuple[ir.Stmt, ...]


def pipelined_losses(path: str, body: Body) -> Iterator[Fact]:
    """Where such losses are divided by what the schedule was never handed, and by which another function of the module
    divides its loss before the backward."""
    before = {name for _, function in functions(body) for name in _divided_before(function)}
    for _, function in functions(body) if before else ():
        names = {param.name for param in function.params} & before
        for call, losses in _schedules(function):
            known = {name for name in names if _may_hold(function, call, name)}
            for node in walk(function):
                if isinstance(node, ir.Binary) and node.op == "/" and losses in reads(node.left):
                    if isinstance(node.right, ir.Name) and node.right.name in names - known:
                        yield Fact(PIPELINED, Site(path, *node.at), {"divisor": node.right.name})


def _divided_before(function: ir.Function) -> Iterator[str]:
    """The names by which a function divides what it back-propagates."""
    nodes = walk(function)
    calls = [node.func for node in nodes if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr)]
    back = {last(called.owner) for called in calls if called.name == "backward"}
    for node in nodes:
        if isinstance(node, ir.Assign) and binds(node.target) & back and isinstance(node.value, ir.Binary):
            if node.value.op == "/" and isinstance(node.value.right, ir.Name):
                yield node.value.right.name


def _schedules(function: ir.Function) -> Iterator[tuple[ir.Call, str]]:
    """The steps of a pipeline's schedule, each with the name of the list that it fills."""
    for node in walk(function):
        if isinstance(node, ir.Call) and last(node.func) == "step" and not node.starred:
            yield from ((node, last(value)) for name, value in node.keywords if name == "losses" and last(value))


def _may_hold(function: ir.Function, call: ir.Call, name: str) -> bool:
    """Whether what a call is handed may hold something: by its name, or in what was made of it."""
    made = {name}
    for node in walk(function):
        if isinstance(node, ir.Assign) and reads(node.value) & made:
            made |= binds(node.target)
    return bool(made & reads(call))
