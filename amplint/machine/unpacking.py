"""Assignments to several names at once; a star takes the rest."""

from __future__ import annotations

from amplint.flow import program as ir
from amplint.machine import restored
from amplint.state import truths
from amplint.state.run import Run
from amplint.state.scopes import Scope
from amplint.state.values import Origin, Parameters, Symbol, Value


def unpack(run: Run, scope: Scope, target: ir.Display, value: Value) -> None:
    """`a, *b = value`."""
    value = _gathered(target.items, truths.resolve(run, value))
    if isinstance(value, Parameters) and len(target.items) == 2:  # one of `named_parameters()`
        value = (restored.part(run, value, 0, target.items[0]), value)
    known = value if isinstance(value, (list, tuple)) and len(value) == len(target.items) else None
    for index, item in enumerate(target.items):
        if isinstance(item, ir.Text) and item.text[1:].isidentifier():
            scope.bind(item.text[1:], known[index] if known is not None else Symbol(item.text[1:], Origin.OPAQUE))
            continue
        part = known[index] if known is not None else restored.part(run, value, index, item)
        run.assign(scope, item, part)


def _gathered(items: tuple[ir.Expr, ...], value: Value) -> Value:
    """A sequence with what `*rest` takes of it in one place; any other value as it is."""
    star = next((at for at, item in enumerate(items) if isinstance(item, ir.Text) and item.text.startswith("*")), None)
    if star is None or not isinstance(value, (list, tuple)) or len(value) < len(items) - 1:
        return value
    end = len(value) - (len(items) - star - 1)
    return [*value[:star], list(value[star:end]), *value[end:]]
