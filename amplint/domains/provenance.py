"""Through which models a value was computed: what its backward would reach, and which model was given whose output.

A pair (a, a) says that model a took part, a pair (a, b) that it was given what was computed from the output of b.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from amplint.dialects.methods import LEAVES_GRAPH
from amplint.domains import freezing
from amplint.domains.freezing import ANY
from amplint.protocol.events import Kind
from amplint.state.run import Run
from amplint.state.values import Loss, Symbol, Value, last_part

Reach = frozenset[tuple[str, str]]

NOWHERE: Reach = frozenset()
UNSURE: Reach = frozenset({(ANY, ANY)})
"""Of a model on the way nobody can tell whether it was frozen."""


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
    """What a backward reaches: no model that is frozen by now. Nothing that is known where nobody can tell which
    parameters are frozen, or some are chosen for it."""
    states = {model: run.frozen.get(model, False) for model, _ in found}
    if run.program.freezes or ANY in run.frozen or found >= UNSURE or None in states.values():
        return NOWHERE
    return frozenset(pair for pair in found if not states[pair[0]])


def spares(run: Run, model: str) -> bool:
    """Whether every backward so far is known to go through models, and none through this one: nobody knows whose
    gradients are erased with its own."""
    reached = {one for event in run.events if event.kind is Kind.BACKWARD for one, _ in event.reach}
    name = last_part(model)
    same = any(
        "#" in one or name == last_part(one) or one.startswith(model) or model.startswith(one) for one in reached
    )
    return bool(reached) and not same


def through(run: Run, model: Value, values: list[Value]) -> Reach:
    """What the output of a model reaches that is given some values: not the model itself while it is frozen."""
    if run.without_graph:
        return NOWHERE
    found, name, frozen = of(values), freezing.key(model), freezing.state(run, model)
    if frozen:
        return found
    reached = found | {(name, name)} | {(name, below) for below, _ in found}
    return reached if frozen is False else reached | UNSURE
