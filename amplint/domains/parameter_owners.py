"""Whose parameters are whose: the models that optimizers hold, and those that have nothing in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from amplint.domains import freezing
from amplint.flow import program as ir
from amplint.state.values import (
    Function,
    Instance,
    Once,
    Optimizer,
    Parameters,
    Stream,
    Value,
    last_part,
    text_of,
)

if TYPE_CHECKING:
    from amplint.state.run import Run

_ANY = "self"  # every object of a class of the program goes by it


def models_of(value: Value) -> frozenset[str]:
    """The models whose parameters an optimizer is given, by their text; none when that is not known."""
    return frozenset(one.model for one in _given(value) if one.model)


def reached_by(value: Value) -> frozenset[str]:
    """The same models, by what tells them from all others, with what they are made of as far as that is known."""
    return frozenset().union(*(one.parts or {one.model} for one in _given(value) if one.model))


def _given(value: Value) -> Iterator[Parameters]:
    if isinstance(value, Parameters):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _given(item)
    elif isinstance(value, dict):
        yield from _given(value.get("params"))
    elif isinstance(value, Stream):
        yield from _given(value.item(0))


def of_object(owner: Instance) -> Parameters:
    """The parameters of an object of the program, as an iterator."""
    return Parameters(text_of(owner), Once(), owner.wrapper, parts=freezing.parts(owner))


def whole(value: Value) -> bool:
    """Whether nothing but parameters of known models is in what an optimizer is given."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(whole(item) for item in value)
    if isinstance(value, dict):
        return whole(value.get("params"))
    return isinstance(value, Parameters) and value.model not in (None, _ANY)


def inside(handed: Value) -> Optimizer | None:
    """The optimizer that a scaler is handed: itself, or the one in an object that passes for it and only steps it."""
    if not isinstance(handed, Instance):
        return handed if isinstance(handed, Optimizer) else None
    found = [held for held in handed.attributes.values() if isinstance(held, Optimizer)]
    step = handed.klass.attributes.get("step")
    node = step.node if isinstance(step, Function) else None
    plain = isinstance(node, ir.Function) and node.steps and not (node.zeroes or node.backward)
    return found[0] if len(found) == 1 and plain and "param_groups" in handed.klass.attributes else None


def sole_owner(run: Run, model: str) -> Optimizer | None:
    """The one optimizer that holds a model's parameters, by itself or as a part of another one; None where there is
    none, or another one holds some of them."""
    known = run.optimizers.values()
    found = [one for one in known if model in one.models]
    found = found or [one for one in known if any(model.startswith(f"{held}.") for held in one.models)]
    others = (one for one in known if one not in found)
    shared = any(not _apart(run, held, model) for one in others for held in one.models)
    return found[0] if len(found) == 1 and not shared else None


def zeroed_with(run: Run, optimizer: Optimizer) -> Iterator[Optimizer]:
    """The other optimizers of nothing but parameters that this one erases the gradients of too."""
    for one in run.optimizers.values():
        if one.made is not None and one.made == optimizer.made:
            continue  # one after the other, of models that go by one name in turn
        inside = one.whole and one.models and one.models <= optimizer.models
        if one is not optimizer and inside and _ANY not in one.models:
            yield one


def missed(run: Run, models: frozenset[str]) -> Iterator[Optimizer]:
    """The optimizers that are known to hold nothing of some models, which others hold."""
    known = run.optimizers.values()
    if _ANY in models or not all(any(model in one.models and one.whole for one in known) for model in models):
        return
    for one in known:
        if one.whole and all(_apart(run, held, model) for held in one.models for model in models):
            yield one


def _apart(run: Run, first: str, second: str) -> bool:
    """Whether two models have no parameter in common, as far as the program shows."""
    if first == second or first.startswith(f"{second}.") or second.startswith(f"{first}."):
        return False
    return frozenset({last_part(first), last_part(second)}) not in run.program.parts


def grouped(run: Run, value: Value) -> Optimizer | None:
    """The optimizer of whose `param_groups` a value is a part."""
    owner, found, _ = text_of(value).partition(".param_groups")
    return run.optimizers.get(owner) if found else None


def optimizer_of(run: Run, model: str | None) -> Optimizer | None:
    """The one optimizer that holds a model's parameters; None when there is none, or may be more than one."""
    holding = [found for found in run.optimizers.values() if model is not None and model in found.models]
    return holding[0] if len(holding) == 1 and not may_share(run) else None


def may_share(run: Run) -> bool:
    """Whether an optimizer was made of parameters that were not followed: they may be those of any model."""
    return any(found.algorithm is not None and not found.models for found in run.optimizers.values())
