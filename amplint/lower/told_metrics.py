"""Steps of schedules that are told a metric: `scheduler.step(val_loss)`, as if the argument were called `metrics`.

So it is for `ReduceLROnPlateau` (torch 2.13, `lr_scheduler.py`, `ReduceLROnPlateau.step`). A step is passed over where
something around it, or before it in its block, may have asked which schedule it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import last, reads, walk, with_parts

METRICS = "metrics"
"""What the argument is called."""

_METRIC = within(words.METRIC)
_TIME = within(words.TIMES)
_SCHEDULE = within(words.SCHEDULER)
_ASIDE = within(words.TIMES, words.SCHEDULER, "rank main master none self")
"""What a test may read that does not ask which schedule there is: the epoch, whether there is one."""

Body = tuple[ir.Stmt, ...]


def with_metrics(body: Body) -> Body:
    """The statements of a module with such steps told so."""
    nodes = (node for statement in body for node in walk(statement))
    return _suite(body, free=True) if any(isinstance(node, ir.Call) and _is_told(node) for node in nodes) else body


def _suite(body: Iterable[object], free: bool) -> Body:
    """The statements of a block; `free`: nothing before has asked which schedule it is."""
    made = []
    for node in body:
        made.append(cast("ir.Stmt", _node(node, free)))
        free = free and not (isinstance(node, ir.If) and not _is_aside(node.test) and _leaves(node))
    return tuple(made)


def _node(node: object, free: bool) -> object:
    if isinstance(node, ir.Function):
        return replace(node, body=_suite(node.body, True))
    if isinstance(node, ir.If):
        inside = free and _is_aside(node.test)
        return replace(node, body=_suite(node.body, inside), orelse=_suite(node.orelse, inside))
    if isinstance(node, ir.Choice) or (isinstance(node, ir.Try) and _steps_otherwise(node)):
        return node
    if isinstance(node, tuple):
        return _suite(node, free) if all(isinstance(one, ir.STATEMENTS) for one in node) else node
    if isinstance(node, ir.Call):
        return replace(node, args=(), keywords=((METRICS, node.args[0]),)) if free and _is_told(node) else node
    return with_parts(node, lambda one: _node(one, free)) if isinstance(node, ir.STATEMENTS) else node


def _is_told(call: ir.Call) -> bool:
    """Whether a call steps a schedule, by its name, and tells it a metric, by the name of that."""
    if not isinstance(call.func, ir.Attr) or call.func.name != "step" or len(call.args) != 1:
        return False
    name = _name(call.args[0])
    return not call.keywords and _SCHEDULE(last(call.func.owner)) and _METRIC(name) and not _TIME(name)


def _name(value: ir.Expr) -> str:
    """What a value is called, itself or before it was made a number."""
    if isinstance(value, ir.Item):
        key = value.index.value if isinstance(value.index, ir.Const) else None
        return key if isinstance(key, str) else _name(value.owner)
    if isinstance(value, ir.Binary) and value.op == "/":
        return _name(value.left)
    if isinstance(value, ir.Call):
        owner = value.func.owner if isinstance(value.func, ir.Attr) else None
        return _name(value.args[0]) if value.args else _name(owner) if owner is not None else ""
    return last(value)


def _is_aside(test: ir.Expr) -> bool:
    """Whether a test does not ask which schedule there is."""
    return not any(isinstance(node, ir.Call) for node in walk(test)) and all(map(_ASIDE, reads(test)))


def _steps_otherwise(node: ir.Try) -> bool:
    """Whether something is stepped in another way where the first one raises."""
    parts = (part for one in node.handlers for statement in one for part in walk(statement))
    return any(isinstance(part, ir.Call) and last(part.func) == "step" for part in parts)


def _leaves(node: ir.If) -> bool:
    return any(isinstance(part, (ir.Return, ir.Leave)) for part in (*node.body, *node.orelse))
