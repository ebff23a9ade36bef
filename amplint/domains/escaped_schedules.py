"""Schedules that escape: code that is not seen has got hold of them, and may step them."""

from __future__ import annotations

from collections.abc import Iterable

from amplint.flow import program as ir
from amplint.protocol.events import Kind
from amplint.state.contexts import Partial
from amplint.state.run import Run
from amplint.state.values import Bound, Function, Instance, Method, Scheduler, Symbol, Value


def escape(run: Run, values: Iterable[Value]) -> None:
    """Code that is not seen has got hold of some values, and of what is in them."""
    waiting, known = list(values), dict[int, Value]()
    while waiting:
        value = waiting.pop()
        if isinstance(value, Scheduler):
            run.horizons.escaped.add(value.key)
        elif _steps(value):
            run.horizons.escaped.update(made(run))  # a closure may have any of them
        elif id(value) not in known:
            known[id(value)] = value
            waiting += _inside(value)


def kept(run: Run) -> str:
    """The keys of the schedules of public classes that were made in a run, and that only what is seen has held; none
    where something steps a schedule that the run has not come to."""
    visited = {event.site[1:3] for event in run.events}
    if any(at[:2] not in visited for at in run.program.movers):
        return ""
    return " ".join(sorted(made(run) - run.horizons.escaped))


def made(run: Run) -> set[str]:
    """The keys of the schedules that were made in a run so far."""
    return {event.scheduler for event in run.events if event.kind is Kind.CREATE and event.scheduler is not None}


def _inside(value: Value) -> list[Value]:
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, Instance):
        return [value.inherits, *value.attributes.values()]
    if isinstance(value, Method):
        return [value.function, value.instance]
    if isinstance(value, Partial):
        return [value.function, *value.args, *dict(value.keywords).values()]
    return [value.owner] if isinstance(value, Bound) else []


def _steps(value: Value) -> bool:
    """Whether it is a function that may take part in the training, or all that a function has."""
    if isinstance(value, Symbol) and value.text in ("locals()", "globals()"):
        return True
    node = value.node if isinstance(value, Function) else None
    return isinstance(node, ir.Lambda) or (isinstance(node, ir.Function) and node.relevant)
