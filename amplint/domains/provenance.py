"""Through which models a value was computed: what its backward would reach, and which model was given whose output.

A pair (a, a) says that model a took part, a pair (a, b) that it was given what was computed from the output of b.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from amplint.dialects.methods import LEAVES_GRAPH
from amplint.protocol.events import Kind
from amplint.state.run import Run
from amplint.state.values import Instance, Loss, Symbol, Value, last_part, text_of

Reach = frozenset[tuple[str, str]]

NOWHERE: Reach = frozenset()


def themselves(models: Iterable[str]) -> Reach:
    """Some models, and nothing that they were given."""
    return frozenset((model, model) for model in models)


def of(values: Sequence[Value]) -> Reach:
    """What some values reach together."""
    found = NOWHERE
    for value in values:
        if isinstance(value, Symbol):
            found |= value.reach
        elif isinstance(value, Loss):
            found |= value.trail.reach
        elif isinstance(value, (list, tuple)):
            found |= of(value)
        elif isinstance(value, dict):
            found |= of(list(value.values()))
    return found


def kept(owner: Symbol, name: str) -> Reach:
    """What an attribute or method of a value reaches; nothing once its graph is left behind."""
    return NOWHERE if name in LEAVES_GRAPH else owner.reach


def asked(run: Run, found: Reach) -> Reach:
    """What a backward reaches; nothing that is known where parameters are frozen, or chosen for it."""
    return NOWHERE if run.program.freezes else found


def spares(run: Run, model: str) -> bool:
    """Whether every backward so far is known to go through models, and none through this one: nobody knows whose
    gradients are erased with its own."""
    reached = {one for event in run.events if event.kind is Kind.BACKWARD for one, _ in event.reach}
    name = last_part(model)
    same = any(
        "#" in one or name == last_part(one) or one.startswith(model) or model.startswith(one) for one in reached
    )
    return bool(reached) and not same


def key(model: Value) -> str:
    """What tells a model from all others."""
    return f"{model.klass.node.name}#{id(model)}" if isinstance(model, Instance) else text_of(model)


def through(run: Run, model: str, values: list[Value]) -> Reach:
    """What the output of a model reaches that is given some values."""
    if run.without_graph:
        return NOWHERE
    found = of(values)
    return found | {(model, model)} | {(model, below) for below, _ in found}
