"""The norm of gradients, measured and not changed.

By a clip without a limit, of one gradient after the other, or by a function of which only the name is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.domains.parameter_owners import optimizer_of
from amplint.flow import program as ir
from amplint.protocol.events import Kind
from amplint.state.values import Gradient, Optimizer, Parameters, Stream, Value

if TYPE_CHECKING:
    from amplint.state.run import Run

_MEASURES, _DOES_MORE = within(words.GRADIENT_NORM), within(words.MORE_THAN_NORM)


def measured(run: Run, at: ir.Span, optimizer: Optimizer | None, detail: dict[str, str] | None = None) -> None:
    """The norm of gradients is measured, in a program that does not go on to compute with it."""
    if not run.program.norms_used:
        run.emit(Kind.NORM, at, optimizer, detail=detail or {})


def called(run: Run, name: str, args: list[Value], at: ir.Span) -> None:
    """A function is called that is not followed: by its name, and what it is given, it measures a norm."""
    of = named(name, args)
    if of is not None:
        measured(run, at, optimizer_of(run, of.model))


def named(name: str, args: list[Value]) -> Parameters | None:
    """The parameters whose gradients a function measures, as far as names tell; None if it does something else."""
    if not _MEASURES(name) or _DOES_MORE(name):
        return None
    return next((value for value in args if isinstance(value, Parameters)), None)


def of_gradients(run: Run, value: Value, at: ir.Span) -> None:
    """The norm of a gradient, or of several, is measured by a function of torch."""
    gradient = one_of(value)
    if gradient is not None:
        measured(run, at, optimizer_of(run, gradient.model))


def one_of(value: Value) -> Gradient | None:
    """A gradient, or one of several."""
    if isinstance(value, Stream):
        value = value.item(0)
    value = value[0] if isinstance(value, list) and value else value
    return value if isinstance(value, Gradient) else None
