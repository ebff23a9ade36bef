"""Contexts that are not seen and have a part of the step in their hands: what entering and leaving them does.

Whoever is, holds or was handed an optimizer, a scaler or a framework's object may zero, unscale or update as the block
ends. What is called like a region, a profiler or a timer does nothing of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from amplint.dialects import vocabulary as words
from amplint.dialects.unseen import hides, is_tool, only_reads, only_runs
from amplint.dialects.vocabulary import within
from amplint.domains import precision
from amplint.flow import program as ir
from amplint.machine import hidden, libraries
from amplint.protocol.events import Kind
from amplint.state import roles
from amplint.state.values import Instance, Optimizer, Scaler, Symbol, Value

if TYPE_CHECKING:
    from amplint.state.run import Run
    from amplint.state.scopes import Scope

_PARTS = frozenset({"optimizer", "scaler"})
_WINDOWED = within(words.WINDOW, "accumulator", "window")
_PLAIN = (ir.Name, ir.Attr)


def passed(run: Run, context: Value, acting: bool, at: ir.Span) -> None:
    """A block is entered or left."""
    if acting or (run.in_batches and _is_one(context) and _holds(run, context)):
        run.emit(Kind.OPAQUE, at)


def acts(run: Run, scope: Scope, node: ir.Expr, context: Value) -> bool:
    """Whether a context may take part in the step: it is a part of it, was handed one, or is called like one."""
    if not run.in_batches or not _is_one(context):
        return False
    if isinstance(node, ir.Call):
        name = node.func.name if isinstance(node.func, _PLAIN) else ""
        return not _is_quiet(name) and (_is_said(name) or any(_is_part(run, one) for one in _handed(run, scope, node)))
    return roles.role_of(run, context) in _PARTS or (not _is_quiet(context.name) and _is_said(context.name))


def _is_one(context: Value) -> TypeGuard[Symbol]:
    return type(context) is Symbol and not context.governed and not precision.is_neutral(context.text)


def _is_said(name: str) -> bool:
    """Whether a context is called like a part of the step, or like a window."""
    return hides(name) or _WINDOWED(name)


def _is_quiet(name: str) -> bool:
    return only_reads(name) or only_runs(name) or is_tool(name)


def _handed(run: Run, scope: Scope, node: ir.Call) -> list[Value]:
    """What a context was made with, as far as it has a name, with what the objects of the program among it hold."""
    named = [one for one in (*node.args, *(value for _, value in node.keywords)) if isinstance(one, _PLAIN)]
    given = [inner for one in named for inner in hidden.parts(run.evaluate(scope, one))]
    return given + [held for one in given if isinstance(one, Instance) for held in one.attributes.values()]


def _is_part(run: Run, value: Value) -> bool:
    return isinstance(value, (Optimizer, Scaler)) or libraries.is_one(value) or roles.played_by(run, value) in _PARTS


def _holds(run: Run, context: Symbol) -> bool:
    """Whether an optimizer or a scaler of the step is an attribute of a context."""
    return any(role in _PARTS and text.startswith(f"{context.text}.") for role, text in run.objects)
