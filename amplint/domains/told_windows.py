"""Who was told the length of the window, or a number computed of it.

By that a criterion or a model may divide its loss, and an optimizer its gradients or its rate.
"""

from __future__ import annotations

from collections.abc import Iterable

from amplint.flow import program as ir
from amplint.protocol.events import Kind
from amplint.state import known_numbers
from amplint.state.counting import TOLD, tags_of
from amplint.state.counts import Length
from amplint.state.run import Run
from amplint.state.values import Optimizer, Symbol, Value, text_of

_OF_WINDOW = frozenset({"window", "divided", "multiplied"})


def speaks_of_window(run: Run, values: Iterable[Value]) -> bool:
    """Whether the length of a window, or what was computed of one, is among some values."""
    return any(
        isinstance(value, Length)
        or known_numbers.window_of(run, value) is not None
        or bool(tags_of(value) & _OF_WINDOW)
        for value in values
    )


def tell(run: Run, owner: Value, values: Iterable[Value]) -> None:
    """An object is handed some values: it knows of the window from now on, if one of them speaks of it."""
    if speaks_of_window(run, values):
        run.told.add(text_of(owner))


def was_told(run: Run, owner: Value) -> bool:
    """Whether an object, or what it is a part of, knows of the window."""
    if isinstance(owner, Symbol) and TOLD in owner.tags:
        return True
    text = text_of(owner) if run.told else ""
    return any(text == known or text.startswith(f"{known}.") for known in run.told)


def may_divide(run: Run, owner: Optimizer | None, handed: Iterable[Value], at: ir.Span) -> None:
    """An optimizer that knows of the window may divide by it what it steps with."""
    if owner is not None and (was_told(run, owner) or speaks_of_window(run, handed)):
        run.emit(Kind.DIVIDE, at, owner)
