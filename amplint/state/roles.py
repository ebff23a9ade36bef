"""Which part of the step a value plays that was not seen being made: optimizer, scaler, scheduler, model or loss.

By its use in the module, and by the whole words of its name (`dialects/vocabulary.py`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from amplint.dialects import vocabulary as words
from amplint.dialects.schedules import UNREAD
from amplint.dialects.vocabulary import consisting, ending, within
from amplint.state.run import Cut
from amplint.state.values import (
    Bound,
    Loss,
    Optimizer,
    Origin,
    Parameters,
    Scaler,
    Scheduler,
    Symbol,
    Value,
    last_part,
    text_of,
)

if TYPE_CHECKING:
    from amplint.state.run import Run

_MODEL, _OPTIMIZER_CLASS = within(words.MODEL), within(words.OPTIMIZER_CLASS)
_OPTIMIZER, _SCALER = within(words.OPTIMIZER), ending(words.SCALER)
_ENDS_OPTIMIZER, _OF_OPTIMIZER = ending(words.OPTIMIZER), ending(words.OF_OPTIMIZER)
_NUMBERS_SCALER = within(words.NUMBERS_SCALER)
_SCHEDULER, _RATE = within(words.SCHEDULER), ending(words.RATE_ITSELF)
_ENDS_SCHEDULER = ending(words.SCHEDULER)
_GIVEN, _ONE = consisting(words.OPTIMIZER_ITSELF, "scaler", words.KINDS), within(words.OPTIMIZER_ITSELF, "scaler")
_LOSS = within(words.LOSS)
_UNUSED: frozenset[str] = frozenset()
_MODEL_METHODS = frozenset({"parameters", "train", "eval", "named_parameters"})


def is_loss_name(name: str) -> bool:
    """Whether something is called a loss."""
    return _LOSS(name)


def is_loss(value: Value) -> bool:
    """Whether a value is a loss, is called one, or is what a model returned."""
    return isinstance(value, Loss) or _LOSS(text_of(value)) or (isinstance(value, Symbol) and value.forward)


def is_scheduler_name(name: str) -> bool:
    """Whether something is called a scheduler of the learning rate."""
    return (_SCHEDULER(name) or _RATE(name)) and not is_optimizer_class(name)


def is_optimizer_class(name: str) -> bool:
    """Whether a class is called an optimizer: `BertAdam` is no BERT, `AdamWScheduleFree` is no schedule."""
    return name[:1].isupper() and _OPTIMIZER_CLASS(name) and not _ENDS_SCHEDULER(name)


def is_model(run: Run, symbol: Symbol) -> bool:
    """Whether a symbol is called, or used as, a model."""
    name = symbol.name
    if is_optimizer_class(name):
        return False
    if _MODEL(name) and not _ENDS_OPTIMIZER(name):  # that of the critic is none
        return True
    return not run.program.usage.get(name, _UNUSED).isdisjoint(_MODEL_METHODS)


def is_a_model(run: Run, value: Value) -> bool:
    """Whether a value is a model, or its parameters: not what one returned, nor the name of a setting."""
    if isinstance(value, Symbol):
        return value.origin is not Origin.DATA and not value.forward and is_model(run, value)
    return isinstance(value, Parameters)


def play(run: Run, value: Value, role: str) -> Value:
    """The object that a symbol stands for in a role; the same object each time."""
    if not isinstance(value, Symbol):
        return value
    key = (role, text_of(value))
    decided = run.decisions.get(key[1])
    if role == "optimizer" and decided is not None and not decided.value:
        raise Cut  # nothing that is None has gradients: this does not happen in such a run
    if key not in run.objects and role == "optimizer" and (held := _held(run, key[1])) is not None:
        run.objects[key] = held
    if key not in run.objects:
        run.objects[key] = made = _made(run, role, value)
        if isinstance(made, Optimizer):
            run.optimizers[made.key] = made
    return run.objects[key]


def optimizer(run: Run, value: Value) -> Optimizer | None:
    """The optimizer that a value is, or that a symbol stands for."""
    played = play(run, value, "optimizer")
    return played if isinstance(played, Optimizer) else None


def scheduler(run: Run, value: Value) -> Scheduler | None:
    """The scheduler that a value is, or that a symbol stands for."""
    played = play(run, value, "scheduler")
    return played if isinstance(played, Scheduler) else None


def is_remade(run: Run, value: Value) -> bool:
    """Whether nobody knows what the methods of an optimizer or a scaler do."""
    return bool(run.remade) and text_of(value) in run.remade


_INSIDE = ".optimizer"


def _held(run: Run, text: str) -> Value:
    """The optimizer inside of an object that looks like one (`wrapper.optimizer`), or around one: what the one zeroes,
    the other steps; None if there is none."""
    outer = run.objects.get(("optimizer", text.removesuffix(_INSIDE))) if text.endswith(_INSIDE) else None
    return outer if outer is not None else run.objects.get(("optimizer", text + _INSIDE))


def _made(run: Run, role: str, symbol: Symbol) -> Optimizer | Scaler | Scheduler:
    key = run.name(symbol.text) if role == "optimizer" and symbol.text in run.optimizers else symbol.text
    if symbol.given is not None and is_remade(run, symbol.given):
        run.remade.add(key)
    if role == "optimizer" and run.taken is not None:
        return run.taken  # there is no other one, and it came back
    if role == "optimizer":
        run.told |= {key} if symbol.text in run.told else set()
        return Optimizer(key, governed=symbol.governed)
    if role == "scaler":
        return Scaler(symbol.text)
    unread = UNREAD in run.program.usage.get(symbol.name, ())
    said = {"unread": "yes"} if unread else {}
    return Scheduler(symbol.text, optimizer(run, symbol.given), said=said)


def role_of(run: Run, symbol: Symbol) -> str | None:
    """`optimizer`, `scaler` or `scheduler`, by use in the module and by name; None when neither says."""
    annotated = run.annotated.get(symbol.text)
    if annotated in ("optimizer", "scaler", "scheduler"):
        return annotated
    if symbol.origin is Origin.DATA and not (symbol.text.endswith("[*]") or _is_given(symbol.text)):
        return None  # a part of what was not followed is what it is called, or an element
    if symbol.text.endswith(")") and is_scheduler_name(maker(symbol.text)):
        return "scheduler"  # whatever it was handed
    used = used_as(run, symbol)
    role = _role(symbol.name, used)
    scales = role is None and "scale" in used and not (run.in_library or run.program.libraries)
    return "scaler" if scales and _SCALER(symbol.name) and not _NUMBERS_SCALER(symbol.name) else role


def maker(text: str) -> str:
    """The name of the function that something not known was returned by, empty for what no call returned."""
    called, parenthesis, _ = text.partition("(")
    return last_part(called) if parenthesis else ""


def _is_given(text: str) -> bool:
    return "." not in text and _ONE(text) and _GIVEN(text)


def used_as(run: Run, symbol: Symbol) -> frozenset[str]:
    """The methods that are called on a symbol; on an element of `scalers`, by a key perhaps, those on `scaler`."""
    name = symbol.name
    singular = name.removesuffix("s") if symbol.text.endswith("]") else name
    return run.program.usage.get(singular) or run.program.usage.get(name, _UNUSED)


@lru_cache(maxsize=4096)
def _role(name: str, used: frozenset[str]) -> str | None:
    if ("unscale_" in used or ("scale" in used and used & {"step", "update"})) and "zero_grad" not in used:
        return None if _NUMBERS_SCALER(name) else "scaler"
    if _SCALER(name) and "step" in used and not _NUMBERS_SCALER(name):
        return "scaler"
    if "step" in used and is_scheduler_name(name):
        return "scheduler"
    if "zero_grad" in used and "step" in used:
        return "optimizer"
    if _OPTIMIZER(name) and not _OF_OPTIMIZER(name) and ("step" in used or words.OF_SETTINGS not in used):
        return "optimizer"
    return None


def played_by(run: Run, value: Value) -> str | None:
    """The part that a value plays, whether it was seen being made or not."""
    if isinstance(value, Optimizer):
        return "optimizer"
    return role_of(run, value) if isinstance(value, Symbol) else None


def of_a_part(run: Run, value: Value) -> Value:
    """The optimizer, scaler or scheduler of which a value is a method, None if there is none."""
    if isinstance(value, Bound):
        return value.owner if isinstance(value.owner, (Optimizer, Scaler, Scheduler)) else None
    if type(value) is not Symbol or "." not in value.text:
        return None
    owner = Symbol(value.text.rpartition(".")[0], value.origin)
    role = role_of(run, owner)
    return play(run, owner, role) if role is not None else None


def is_an_optimizer(run: Run, value: Value) -> bool:
    """Whether a value is an optimizer, not a setting that is called like one: `config.optimizer`."""
    setting = isinstance(value, Symbol) and "." in value.text.partition("(")[0].removeprefix("self.")
    return played_by(run, value) == "optimizer" and not setting
