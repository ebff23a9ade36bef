"""Calls of objects of classes of the program: their `__call__`, or the forward of a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amplint.domains import model_losses, precision, provenance, ranks
from amplint.flow import program as ir
from amplint.machine import attributes, libraries
from amplint.state.values import Instance, Loss, Method, Origin, Symbol, Value

if TYPE_CHECKING:
    from amplint.state.run import Run


def call(run: Run, instance: Instance, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> Value:
    """A call of an object: its `__call__`, or `forward`; a module of the program that is no loss returns a forward."""
    called = attributes.read(run, instance, "__call__")
    if isinstance(called, Method):
        return run.invoke(called, args, keywords, at)
    ranks.forward(run, instance, args, at)
    ran = precision.of_forward(run, instance)
    libraries.gives_outputs(run, instance)
    through = provenance.through(run, instance, [*args, *keywords.values()])
    found = attributes.read(run, instance, "forward")
    if isinstance(found, Method) and _does_more(found.function.node):
        given = run.invoke(found, args, keywords, at)
        losses = _losses_in(given)
        for loss in losses:
            loss.trail.reach |= through
        if losses or given is None:
            return given
    made = Symbol(f"{instance.text}(...)", Origin.DATA, forward=True, ran=ran, reach=through)
    return (model_losses.losses(run, found, made) if isinstance(found, Method) else None) or made


def _does_more(node: ir.Function | ir.Lambda) -> bool:
    """Whether a forward does more than to compute what no step depends on."""
    return isinstance(node, ir.Function) and (node.gives or node.backward or node.steps or node.zeroes)


def _losses_in(value: Value) -> list[Loss]:
    """The losses in what a model returned."""
    if isinstance(value, dict):
        value = tuple(value.values())
    every = value if isinstance(value, (tuple, list)) else (value,)
    return [one for one in every if isinstance(one, Loss)]
