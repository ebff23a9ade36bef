"""What code that nobody sees may do with what it is given: as much as its words do not rule out.

It is known by whole words alone (`dialects/vocabulary.py`), and what it was given nothing of it cannot change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from amplint.dialects import vocabulary as words
from amplint.dialects.gradients import writes_gradients
from amplint.dialects.public import computes
from amplint.dialects.unseen import hides, is_tool, only_reads, only_runs
from amplint.dialects.vocabulary import within
from amplint.domains import escaped_schedules, parameter_dtypes
from amplint.flow import program as ir
from amplint.machine import hidden, libraries, places
from amplint.protocol.events import Kind
from amplint.state import known_numbers, roles
from amplint.state.contexts import Partial
from amplint.state.values import (
    Function,
    Gradient,
    Instance,
    Loss,
    Method,
    Optimizer,
    Origin,
    Parameters,
    Public,
    Scaler,
    Scheduler,
    Stream,
    Symbol,
    Value,
    text_of,
)

if TYPE_CHECKING:
    from amplint.state.run import Run

_KEEPS, _OF_RANKS, _OF_WINDOW = within(words.KEEPING), within(words.RANKS), within(words.WINDOW, "window")
_RESTORES = within(words.RESTORING)
_HOLDS = within(words.HOLDERS)
ITSELF = "imported itself"
"""A tag of a function that an import binds: what stands before its name is a module, not an object."""


def keeps_loss(run: Run, name: str, values: Iterable[Value]) -> bool:
    """Whether a function gives back the loss that it is given: its words say so, and it is given no other number that
    it may divide by."""
    return (
        _KEEPS(name)
        and not _OF_WINDOW(name)
        and all(isinstance(value, Loss) or _is_no_divisor(run, value) for value in values)
    )


def _is_no_divisor(run: Run, value: Value) -> bool:
    if isinstance(value, Symbol):
        return known_numbers.window_of(run, value) is None and _OF_RANKS(value.text)
    if isinstance(value, Public):
        return computes(value.name) or _OF_RANKS(value.name)
    return value is None or isinstance(value, (str, bool))


def hand_over(run: Run, func: Symbol, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> None:
    """Code that cannot be followed is handed parts of the step: what it does with them is not known."""
    owner, _, short = func.text.rpartition(".")
    owner = "" if ITSELF in func.tags else owner
    handed, reads = [*args, *keywords.values()], only_reads(short)
    libraries.handed_over(run, handed)
    escaped_schedules.escape(run, () if reads else handed)
    parameter_dtypes.handed_over(run, owner, short, handed)
    if not reads and any(map(libraries.is_one, handed)):
        run.owes = False
    if run.in_batches and not reads:
        places.handed_over(run, handed)
    if (run.path, at) in run.program.forwards:  # a framework's object is there for its devices and regions
        handed = [value for value in handed if not libraries.is_one(value)]
    given = [inner for value in handed for one in hidden.parts(value) for inner in _flat(one)]
    given += [held for value in handed for held in _held_by(run, value)]
    parts = [(value, roles.played_by(run, value)) for value in given]
    optimizers = [value for value, part in parts if part == "optimizer"]
    scalers = [value for value, part in parts if part == "scaler" or isinstance(value, Scaler)]
    for scaler in scalers:
        if isinstance(scaler, Scaler) and (_RESTORES(short) or not _has_scaled(run, scaler)):
            scaler.maker = ()  # its state does not begin where it was made
    if not (reads or run.in_batches or _leaves_methods(func.text, [*args, *keywords.values()])):
        _remake(run, handed)
    for optimizer in optimizers if not reads else ():
        run.emit(Kind.OPAQUE, at, roles.optimizer(run, optimizer))
    if optimizers and not reads:
        return
    if scalers and not reads:
        run.emit(Kind.OPAQUE, at)
    elif run.in_batches and any(map(hidden.acts_later, handed)):
        run.emit(Kind.OPAQUE, at)
    elif writes_gradients(short) and (owner or given):
        run.emit(Kind.OPAQUE, at)
    elif not reads and (any(map(_many_gradients, handed)) or _may_train(run, owner, short, given, at)):
        run.emit(Kind.OPAQUE, at)


def _held_by(run: Run, value: Value) -> list[Optimizer]:
    """The optimizers that the run knows as attributes of something that is not seen: `state.optimizer` of `state`."""
    prefix = f"{value.text}." if type(value) is Symbol else ""
    known = run.objects.items() if prefix else ()
    return [held for (_, text), held in known if isinstance(held, Optimizer) and text.startswith(prefix)]


def _has_scaled(run: Run, scaler: Scaler) -> bool:
    """Whether a scaler has done anything yet: what it is given later is no state to begin with."""
    return any(event.scaler == scaler.key and event.kind is not Kind.SCALER_CREATED for event in run.events)


def _leaves_methods(made: str, handed: list[Value]) -> bool:
    """Whether it is known why an optimizer is handed over: to a framework, or to a schedule, by what is called or by a
    setting that it is handed."""
    names = (made, *(one.text for one in handed if isinstance(one, Symbol)))
    return any(map(roles.is_scheduler_name, names)) or any(map(libraries.is_one, handed))


def _remake(run: Run, handed: list[Value]) -> None:
    """Code that has an optimizer or a scaler before the batches may put its own in the place of their methods."""
    run.remade.update(text_of(one) for one in handed if isinstance(one, Scaler) or roles.is_an_optimizer(run, one))


def _may_train(run: Run, owner: str, short: str, given: list[Value], at: ir.Span) -> bool:
    """Whether a call that was given no optimizer may go back, step or zero: it holds a model, or its name says so."""
    modelled = any(roles.is_a_model(run, value) for value in given)
    own = roles.is_a_model(run, Symbol(owner)) if owner else False
    if (modelled or own) and (run.path, at) in run.program.forwards:
        return False
    if modelled and not owner and not only_runs(short):
        return not (roles.is_model(run, Symbol(short)) or short[:1].isupper())  # a model runs it, an object keeps it
    if not hides(short) or (owner and is_tool(owner)):
        return False
    return bool(owner) or any(_may_hold(run, value) for value in given)


def _may_hold(run: Run, value: Value) -> bool:
    """Whether a value is a part of the step, or may have one in it: an object of the program, a closure, a state."""
    if isinstance(value, _PARTS):
        return True
    if not isinstance(value, Symbol):
        return False
    return value.forward or roles.is_loss(value) or roles.is_a_model(run, value) or _is_holder(run, value)


def _is_holder(run: Run, value: Symbol) -> bool:
    if value.origin is Origin.DATA or " " in value.text:  # what was computed is a number
        return False
    return _HOLDS(value.text) or roles.role_of(run, value) is not None


_PARTS = (Optimizer, Scaler, Scheduler, Loss, Gradient, Parameters, Function, Method, Partial, Instance)


def _many_gradients(value: Value) -> bool:
    """Whether a value is a list of gradients, or holds one: whoever is handed it may divide, clip or unscale them."""
    if isinstance(value, Stream):
        return isinstance(value.item(0), Gradient)
    return isinstance(value, (list, tuple)) and any(isinstance(one, Gradient) or _many_gradients(one) for one in value)


def _flat(value: Value) -> list[Value]:
    if isinstance(value, (list, tuple)):
        return [inner for item in value for inner in _flat(item)]
    if isinstance(value, dict):
        return [inner for item in value.values() for inner in _flat(item)]
    if isinstance(value, Instance):
        return [value, *(held for held in value.attributes.values() if isinstance(held, (Optimizer, Scaler, Symbol)))]
    return [value, value.given] if isinstance(value, Symbol) and value.given is not None else [value]
