"""Updates of a weight average: which optimizer's weights it takes in."""

from __future__ import annotations

from amplint.dialects.averages import BY_HAND, moved, updates_one
from amplint.domains import parameter_owners
from amplint.flow import program as ir
from amplint.flow.spelling import spelled
from amplint.protocol.events import Kind
from amplint.state import roles
from amplint.state.run import Run
from amplint.state.values import Instance, Parameters, Symbol, Value, text_of


def updates(args: list[Value], keywords: dict[str, Value]) -> bool:
    """Whether what an average is handed may be a model or its parameters, or is nothing at all."""
    handed = [*args, *keywords.values()][:1]
    return all(isinstance(value, (Parameters, Instance)) or _settled(value) for value in handed)


def taken_in(run: Run, node: ir.Call, args: list[Value]) -> Value:
    """The model whose weights a function takes into an average, by its name and by what it is handed; None if it is
    not known to be one that does so in every call."""
    name = getattr(node.func, "name", "")
    if name == BY_HAND:
        return args[1]
    if len(args) < 2 or not updates_one(name) or len(args) != len(node.args):
        return None
    place = moved([spelled(one) for one in (*node.args, *(value for _, value in node.keywords))])
    model = args[place] if place is not None else None
    return model if isinstance(model, Instance) or roles.is_a_model(run, model) else None


def _settled(value: Value) -> bool:
    return isinstance(value, Symbol) and not value.forward and not value.text.endswith(")")


def update(run: Run, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> Value:
    """The event of an update; none where there are several optimizers and nobody knows whose weights are meant."""
    handed = next(iter([*args, *keywords.values()]), None)
    model = handed.model if isinstance(handed, Parameters) else text_of(handed)
    optimizer = parameter_owners.optimizer_of(run, model)
    if optimizer is not None or len(run.optimizers) < 2:
        run.emit(Kind.AVERAGE, at, optimizer)
    return Symbol("None")
