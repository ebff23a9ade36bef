"""Which models get no gradients, because the program has frozen their parameters.

A model is frozen as a whole (`critic.requires_grad_(False)`) until it is thawed. One of which a part is frozen gets
gradients in the rest, and so does one of which nobody can tell: of these nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.dialects.methods import SWITCHES_GRADIENTS
from amplint.flow import program as ir
from amplint.state import roles
from amplint.state.run import Run
from amplint.state.scopes import Scope
from amplint.state.values import Function, Instance, Origin, Symbol, Value, text_of

ANY = "any model"
"""What may be frozen, or thawed, where nobody can tell what was."""
MOST_PARTS = 200
"""Objects that are looked through for one that is frozen."""


def key(model: Value) -> str:
    """What tells a model from all others; the same when something wraps it."""
    return f"{model.klass.node.name}#{id(model.attributes)}" if isinstance(model, Instance) else text_of(model)


def is_object(name: str) -> bool:
    """Whether a model is known by such a name as an object of the program."""
    return "#" in name


def called(run: Run, scope: Scope, call: ir.Call, given: list[Value]) -> None:
    """Notes what a call freezes or thaws, of a name or of all parameters of one: what is computed is no model."""
    if not isinstance(call.func, ir.Attr) or call.func.name != SWITCHES_GRADIENTS:
        return
    owner, certain = call.func.owner, False
    if isinstance(owner, ir.Call) and isinstance(owner.func, ir.Attr) and owner.func.name == "parameters":
        owner, certain = owner.func.owner, True
    if isinstance(owner, (ir.Name, ir.Attr)):
        switch(run, run.evaluate(scope, owner), given[0] if given else True, certain)


def switch(run: Run, owner: Value, flag: Value, certain: bool = False) -> None:
    """`owner.requires_grad_(flag)`; `certain`: it is known that the owner is a model."""
    frozen = not flag if isinstance(flag, bool) else None
    if isinstance(owner, (list, tuple)):
        for one in owner:
            switch(run, one, flag, certain)
    elif isinstance(owner, Instance):
        for part in _parts(owner):
            if isinstance(part, Instance) or key(part) in run.frozen or roles.is_model(run, part):
                run.frozen[key(part)] = frozen
    elif isinstance(owner, Symbol) and (certain or _is_model(run, owner)) and not {"[", "("} & set(owner.text):
        for known in [known for known in run.frozen if known.startswith(f"{owner.text}.")]:
            del run.frozen[known]
        run.frozen[owner.text] = frozen
    elif isinstance(owner, Symbol) and not (frozen is False and owner.origin is Origin.DATA):
        run.frozen[ANY] = None


def _is_model(run: Run, owner: Symbol) -> bool:
    """Whether a symbol is known to be a model: by its name or use, or as an optimizer's."""
    if owner.origin is Origin.DATA:
        return False
    return roles.is_model(run, owner) or any(owner.text in one.models for one in run.optimizers.values())


def _parts(owner: Instance) -> Iterator[Instance | Symbol]:
    """An object and all models in it."""
    waiting: list[Value] = [owner]
    seen: set[int] = set()
    while waiting and len(seen) < MOST_PARTS:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, (Instance, Symbol)):
            yield one
        if isinstance(one, Instance):
            waiting += one.attributes.values()
        elif isinstance(one, (list, tuple)):
            waiting += one


def parts(owner: Instance) -> frozenset[str]:
    """What tells an object, and all models in it, from all others; what trains itself goes by the name that everything
    in it begins with."""
    methods = (made.node for made in owner.klass.attributes.values() if isinstance(made, Function))
    if any(isinstance(node, ir.Function) and (node.backward or node.steps or node.zeroes) for node in methods):
        return frozenset({owner.text})
    return frozenset(map(key, _parts(owner)))


def state(run: Run, model: Value) -> bool | None:
    """Whether a model is frozen; None where only a part of it is, or nobody can tell."""
    if not run.frozen:
        return False
    name = key(model)
    if ANY in run.frozen:
        return None
    if isinstance(model, Instance):
        whole = run.frozen.get(name, False)
        return whole if all(run.frozen.get(key(part), whole) is whole for part in _parts(model)) else None
    if name in run.frozen:
        return run.frozen[name]
    if any(known.startswith(f"{name}.") and frozen is not False for known, frozen in run.frozen.items()):
        return None
    holders = [frozen for known, frozen in run.frozen.items() if name.startswith(f"{known}.")]
    return holders[-1] if holders else False
