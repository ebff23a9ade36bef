"""Whether a loss that comes from code which is not seen may carry a loss scale already, or is given it by hand."""

from __future__ import annotations

import builtins
import re

from amplint.dialects import vocabulary as words
from amplint.dialects.methods import OF_SCALER
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.protocol.events import Kind
from amplint.protocol.values import with_changes
from amplint.state import roles
from amplint.state.counting import OF_SCALE
from amplint.state.run import Run
from amplint.state.values import Loss, Origin, Scaler, Symbol, Value, last_part, text_of

_SCALED = within(words.SCALED)
_CALLED = re.compile(r"([A-Za-z_][\w.]*)\((\w*)")
_NAMES = re.compile(r"(?<![\w.])[A-Za-z_][\w.]*")
_PARTS = re.compile(r"[A-Za-z_]\w*")


def of(scaler: Scaler) -> Symbol:
    """The scale of a scaler."""
    return Symbol(f"{scaler.key}.get_scale()", Origin.DATA, tags=OF_SCALE, given=scaler)


def carries(run: Run, value: Value) -> bool:
    """Whether a number was computed from a scale, as far as names tell, or by who was handed the scaler."""
    return is_of_scaler(run, value) or any(map(_SCALED, _PARTS.findall(text_of(value))))


def is_of_scaler(run: Run, value: Value) -> bool:
    """Whether a number was computed from the scale of a scaler, or by who was handed one."""
    if isinstance(value, Symbol) and value.tags & OF_SCALE:
        return True
    names = {*_PARTS.findall(text_of(value))}
    scalers = {last_part(one.key) for one in run.objects.values() if isinstance(one, Scaler)}
    return not names.isdisjoint(scalers | {"get_scale"})


def multiplied(run: Run, loss: Loss, factor: Value) -> Loss | None:
    """A loss times a scale, which carries it then, as far as anybody knows; None for another factor."""
    if loss.scaler is not None or not isinstance(factor, Symbol) or not is_of_scaler(run, factor):
        return None
    if " " in factor.text:  # what else is in the factor is not known: `scaler.get_scale() / accum`
        loss = loss.times(None, text_of(factor))
    if isinstance(factor.given, Scaler):
        return with_changes(loss, scaler=factor.given)
    loss.trail.perhaps = None
    return loss


def went_back(run: Run, loss: Loss, args: list[Value], keywords: dict[str, Value]) -> Loss:
    """The loss that is back-propagated by `loss.backward(gradient)`, by which it is multiplied: by a scale, or by what
    may divide and scale it."""
    given = args[0] if args else keywords.get("gradient")
    known = loss if given is None else multiplied(run, loss, given)
    if known is not None:
        return known
    loss.trail.perhaps = None
    return loss.times(None, text_of(given))


def made_at(run: Run, scaler: Scaler, value: Value, at: ir.Span) -> ir.Span | None:
    """Where a loss is scaled, in the user's code if a framework does it; None where nobody need back-propagate what
    comes back: that of a scaler which has methods of its own, or of a number by which the scale is made that is asked
    for later."""
    used = roles.used_as(run, Symbol(scaler.key))
    asked = any({"scale", "get_scale"} <= methods for methods in run.program.usage.values())
    if (not scaler.known and used - OF_SCALER) or (asked and not roles.is_loss(value)):
        return None
    there = run.site(at)
    return there.row, there.column, there.end_row, there.end_column


def scaled(run: Run, symbol: Symbol) -> bool | None:
    """None where it may: a symbol called scaled, one that no call in the run has made (an argument, its attributes and
    elements), and what calls of those return, which may have the scaler. Another one, and what a model returns, is not
    scaled."""
    called = _CALLED.findall(symbol.text)
    if not called and symbol.forward and not _SCALED(symbol.text):
        return None if run.holders else False  # it has a name of its own since a model returned it
    if not called or _SCALED(symbol.text) or not run.holders.isdisjoint(_NAMES.findall(symbol.text)):
        return None
    return None if any(_has_scaler(run, *one) for one in called) else False


def _has_scaler(run: Run, called: str, first: str) -> bool:
    """Whether what is called may scale: an argument that is no model, where the scaler is handed in too, or the object
    whose method runs. Who scales a loss in the module scales all that are to be."""
    parts = called.split(".")
    if any("scale" in used for used in run.program.usage.values()):
        return False
    if any(roles.is_model(run, Symbol(part)) for part in parts):
        return False
    root = first if len(parts) == 1 and hasattr(builtins, called) else parts[0]
    if root == "self" or root not in run.given:
        return root == "self"
    return all(event.kind is not Kind.SCALER_CREATED for event in run.events)
