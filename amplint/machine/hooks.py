"""Hooks that the program registers: what they change, and what they do around the backward and the steps.

Those of a model that take part in the step act once in each micro-step: at a forward, and so before its backward, or
in the backward (torch 2.13, `nn/modules/module.py`). Those of an optimizer act before or after its step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amplint.dialects.methods import HOOKS_OF_BACKWARDS, HOOKS_OF_FORWARDS, HOOKS_OF_GRADIENTS
from amplint.dialects.unseen import hides, only_reads
from amplint.flow import program as ir
from amplint.machine import hidden
from amplint.protocol.events import Kind
from amplint.state.contexts import Partial
from amplint.state.values import Function, Method, Optimizer, Value, last_part, text_of

if TYPE_CHECKING:
    from amplint.state.run import Run

ALL = HOOKS_OF_GRADIENTS | HOOKS_OF_FORWARDS | HOOKS_OF_BACKWARDS
_LEAVES = frozenset("add append extend info log print put update write".split())


def registered(run: Run, name: str, args: list[Value]) -> None:
    """A hook of a model or of a tensor: what it returns may stand in the place of a gradient or of an output."""
    hook = args[0] if args else None
    if name in HOOKS_OF_GRADIENTS:
        run.hooked = True
        return
    known = isinstance(hook, (Function, Method))
    run.hooked = run.hooked or _may_change(hook, name in HOOKS_OF_BACKWARDS)
    if hidden.acts_later(hook) if known or isinstance(hook, Partial) else hides(last_part(text_of(hook))):
        run.hooks.add("forward" if name in HOOKS_OF_FORWARDS else "backward")


def _may_change(hook: Value, of_backward: bool) -> bool:
    """Whether a hook may return another gradient or output: what is not seen may, but for what only looks."""
    if isinstance(hook, (Function, Method)):
        return _returns(hook.function if isinstance(hook, Method) else hook)
    return of_backward and not only_reads(last_part(text_of(hook)))


def _returns(hook: Function) -> bool:
    """Whether a function of the program returns something, as far as it shows."""
    node = hook.node
    if isinstance(node, ir.Function):
        return not node.silent
    called = getattr(getattr(node.body, "func", None), "name", "")
    return called not in _LEAVES


def before_backward(run: Run, at: ir.Span) -> None:
    """What hooks of a forward do that take part in the step is not followed."""
    if "forward" in run.hooks:
        run.emit(Kind.OPAQUE, at)


def after_backward(run: Run, at: ir.Span) -> None:
    """Nor is what those of a backward do."""
    if "backward" in run.hooks:
        run.emit(Kind.OPAQUE, at)


def of_step(owner: Optimizer, name: str) -> None:
    """A hook of an optimizer's step."""
    owner.hooked |= {name}


def before_step(run: Run, owner: Optimizer | None, at: ir.Span) -> None:
    """What hooks of the user's do before a step is not followed: they may divide, clip and unscale the gradients."""
    if owner is not None and "register_step_pre_hook" in owner.hooked:
        run.emit(Kind.OPAQUE, at, owner)


def after_step(run: Run, owner: Optimizer | None, at: ir.Span) -> None:
    """Nor is what they do after one: they may clip, and zero the gradients."""
    if owner is not None and owner.hooked:
        run.emit(Kind.OPAQUE, at, owner)
