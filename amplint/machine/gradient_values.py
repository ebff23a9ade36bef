"""Gradients that are values: what is applied has been through whatever was done to it on the way.

A framework that hands gradients out (`tape.gradient(loss, weights)`) leaves none behind. What happens to them is kept
with them, and is told of an optimizer when they are handed to it; of gradients that are never applied nothing is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from amplint.flow import program as ir
from amplint.machine import step_methods
from amplint.protocol.events import Event, Kind
from amplint.protocol.values import with_changes
from amplint.state import known_numbers
from amplint.state.run import Run
from amplint.state.values import Flow, Loss, Optimizer, Origin, Scaler, Stream, Symbol, Value, text_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from amplint.state.event_parts import Told


def made(run: Run, loss: Value, sources: Value) -> Value:
    """What the last backward, that of a loss, has made, no longer in the trace: as many gradients as there are known
    sources, else some of which one stands for all; of what is no loss they are not known."""
    if not isinstance(loss, Loss):
        return Symbol("gradients", Origin.OPAQUE)
    last = max(at for at, event in enumerate(run.events) if event.kind is Kind.BACKWARD)
    one = Flow((run.events.pop(last),))
    return [one for _ in sources] if isinstance(sources, (list, tuple)) else Stream(lambda index: one)


def after(
    run: Run,
    value: Value,
    kind: Kind,
    at: ir.Span,
    scaler: Scaler | None = None,
    weight: Fraction | None = None,
    **rest: Unpack[Told],
) -> Value:
    """Gradients, one or many, after something was done to them; what else it is, is left as it is."""
    if isinstance(value, (list, tuple)):
        return [after(run, one, kind, at, scaler, weight, **rest) for one in value]
    if isinstance(value, Stream):
        first = after(run, value.item(0), kind, at, scaler, weight, **rest)
        return Stream(lambda index: first, value.length)
    if not isinstance(value, Flow):
        return value
    run.emit(kind, at, None, scaler, weight=weight, **rest)
    return Flow((*value.history, run.events.pop()))


def binary(run: Run, node: ir.Binary, left: Value, right: Value) -> tuple[Value] | None:
    """A gradient multiplied or divided; None where no gradient is. With anything added it is another one."""
    if isinstance(left, Flow) and node.op in ("*", "/"):
        return (_times(run, left, node.op, right, node.at),)
    return (_times(run, right, "*", left, node.at),) if isinstance(right, Flow) and node.op == "*" else None


def _times(run: Run, gradient: Flow, op: str, factor: Value, at: ir.Span) -> Value:
    value = known_numbers.number(run, factor)
    detail = {"unchecked": "yes"} if step_methods.unchecked(run) else {}
    if value:
        weight = Fraction(value) if op == "*" else 1 / Fraction(value)
        return after(run, gradient, Kind.DIVIDE, at, weight=weight, detail=detail)
    text = text_of(factor)
    inverse = text.removeprefix("1 / ") if text.startswith("1 / ") else ""
    symbol = text if op == "/" else inverse
    return after(run, gradient, Kind.DIVIDE, at, factors=frozenset({symbol} if symbol else ()), detail=detail)


def before(run: Run, value: Value, optimizer: Optimizer, variables: Value) -> str:
    """Whether gradients that are handed to an optimizer for some variables were handed to it before: `"for the same"`,
    `"for others"`, so that this is another part of the same update, or `"never"`. They are from now on."""
    found = next(_flows(value), None)
    if found is None:
        return "never"
    origin, known = run.handed_gradients.get(optimizer.key, (None, frozenset()))
    known = known if origin is found.history[0] else frozenset()
    told = frozenset((*_targets(variables), *_targets(value)))
    run.handed_gradients[optimizer.key] = found.history[0], known | {told}
    return "for the same" if told in known else "for others" if known else "never"


def _targets(value: Value) -> Iterator[str]:
    """The texts of the variables that gradients are paired with."""
    if isinstance(value, Stream):
        yield from _targets(value.item(0))
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _targets(one)
    elif not isinstance(value, Flow):
        yield text_of(value)


def applied(run: Run, value: Value, optimizer: Optimizer, share: int | Fraction, begins: bool, at: ir.Span) -> str:
    """What is known of gradients that are handed to an optimizer, their loss divided by `share`; what has happened to
    them is told of it, once, onto nothing if a window begins."""
    found = list(_flows(value))
    if not found or len({flow.history for flow in found}) > 1:
        run.emit(Kind.OPAQUE, at, optimizer)
        return "not known"
    history = found[0].history
    if run.applied_gradients.get(optimizer.key) is not history[0]:
        run.applied_gradients[optimizer.key] = history[0]
        if begins:
            run.emit(Kind.ZERO_GRAD, at, optimizer)
        run.events += [_of(optimizer, event, share) for event in history]
    return "unscaled" if any(event.kind is Kind.UNSCALE for event in history) else "as they are"


def _of(optimizer: Optimizer, event: Event, share: int | Fraction) -> Event:
    """An event as one of an optimizer; a loss divided by the share."""
    weight = event.weight / share if event.kind is Kind.BACKWARD and event.weight is not None else event.weight
    detail = event.detail if share == 1 else {name: text for name, text in event.detail.items() if name != "undivided"}
    return with_changes(event, optimizer=optimizer.key, weight=weight, detail=detail)


def _flows(value: Value) -> Iterator[Flow]:
    """The gradients among what is applied: alone, or each with its variable."""
    if isinstance(value, Flow):
        yield value
    elif isinstance(value, Stream):
        yield from _flows(value.item(0))
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _flows(one)
