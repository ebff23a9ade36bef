"""What the program's own objects and functions do out of sight: by methods of a base that is not seen, by names that
are computed, by closures that are handed over, and as what a decorator makes of them."""

from __future__ import annotations

import builtins
import sys
from itertools import takewhile
from typing import TYPE_CHECKING

from amplint.dialects import GOVERNS
from amplint.dialects import vocabulary as words
from amplint.dialects.public import QUIET, SEEN
from amplint.dialects.unseen import hides, is_tool, only_prepares, only_reads, only_runs
from amplint.dialects.vocabulary import within
from amplint.domains import escaped_schedules
from amplint.flow import program as ir
from amplint.machine import attributes, libraries, places
from amplint.protocol.events import Kind
from amplint.protocol.ranks import Wrapper
from amplint.state.contexts import Partial
from amplint.state.scopes import Scope
from amplint.state.values import (
    Bound,
    Class,
    Function,
    Instance,
    Method,
    Optimizer,
    Public,
    Scaler,
    Symbol,
    Value,
    text_of,
)

if TYPE_CHECKING:
    from amplint.state.run import Run

_SEEN = frozenset(sys.stdlib_module_names) | GOVERNS | SEEN | {"object"}
_BUILTINS = frozenset(dir(builtins))
_BESIDE = within(words.DECORATING)
_MAY_REPEAT = within(words.ACTING, words.TAKING, words.WINDOW, words.REPEATING)
_HELD = within(words.MODEL, words.CRITERION, words.CRITERION_ITSELF)


def called_on(run: Run, owner: Value, name: str, at: ir.Span) -> None:
    """A method that no class of the program defines was called on a value: that of a base may do anything with what the
    object holds."""
    if not _changes(name):
        return
    places.reached(run, owner)
    if isinstance(owner, Instance) and has_hidden_base(owner.klass) and not _computes(name):
        run.emit(Kind.OPAQUE, at)


def given(run: Run, owner: Value, value: Value) -> None:
    """An object keeps a value, which the methods of a base that is not seen can get at."""
    if isinstance(owner, Instance) and has_hidden_base(owner.klass):
        escaped_schedules.escape(run, [value])


def _computes(name: str) -> bool:
    return only_runs(name) or only_prepares(name) or _HELD(name)


def may_act(func: Symbol) -> bool:
    """Whether something that is not seen may, when it is called, change what it is a part of."""
    return func.wrapper is Wrapper.NONE and _changes(func.name)


def _changes(name: str) -> bool:
    return not only_reads(name) and name not in QUIET


def called(run: Run, owner: Value, func: Symbol, at: ir.Span) -> None:
    """Something of a value was called that is not seen: a method of it, unless the value keeps it as an attribute, or a
    wrapper has it."""
    if isinstance(owner, Instance) and (func.text != f"{owner.text}.{func.name}" or _keeps(owner.klass, func.name)):
        return
    called_on(run, owner, func.name, at)


def _keeps(klass: Class, name: str) -> bool:
    """Whether the methods of a class put something into its objects under a name: then that is no method of a base."""
    return name in klass.node.keeps or any(_keeps(base, name) for base in klass.bases if isinstance(base, Class))


def called_by_name(run: Run, owner: Value, at: ir.Span) -> None:
    """`getattr(owner, name)()`: any method of an optimizer, or one that nothing calls by a name that is written."""
    methods = owner.klass.attributes.values() if isinstance(owner, Instance) else ()
    nodes = [found.node for found in methods if isinstance(found, Function) and isinstance(found.node, ir.Function)]
    others = [one for one in nodes if one.relevant and f".{one.name}" not in run.program.called and not one.loops]
    if isinstance(owner, (Optimizer, Scaler)) or others:
        run.emit(Kind.OPAQUE, at)


def parts(value: Value) -> list[Value]:
    """What a closure, a bound method or a function with some of its arguments given has to act on."""
    if isinstance(value, Bound) and isinstance(value.owner, (Optimizer, Scaler)):
        return [] if value.name in QUIET else [value.owner]
    if isinstance(value, Partial):
        return [*parts(value.function), *value.args]
    return [value]


def acts_later(value: Value) -> bool:
    """Whether whoever is handed a function of the program may take a part of the training step by calling it."""
    function = value.function if isinstance(value, (Method, Partial)) else value
    node = function.node if isinstance(function, Function) else None
    if isinstance(node, ir.Function):
        return node.steps or node.zeroes or node.backward
    body = node.body if isinstance(node, ir.Lambda) else None
    return isinstance(body, ir.Call) and isinstance(body.func, ir.Attr) and hides(body.func.name)


def is_remade(run: Run, function: Function) -> bool:
    """Whether a decorator has made another function of one that takes part in the step: it may call it now and then,
    and do more. One that is not seen calls it once, unless its name says a word of a step or of several."""
    node = function.node
    acts = isinstance(node, ir.Function) and (node.steps or node.zeroes or node.backward)
    found = _decorators(run, function) if acts else []
    return any(not isinstance(value, (Public, Symbol)) or _MAY_REPEAT(name) for name, value in found)


def is_decorated(run: Run, function: Function) -> bool:
    """Whether a decorator that is not seen has a function of the program, and what it is given."""
    return bool(_decorators(run, function))


def _decorators(run: Run, function: Function) -> list[tuple[str, Value]]:
    """The decorators of a function that may make another one of it: the name of each, and what it is."""
    node = function.node
    decorators = node.decorators if isinstance(node, ir.Function) and not run.in_library else ()
    return [found for one in decorators for found in _remakes(run, function.scope, one)]


def dispatches(node: ir.Function | ir.Lambda) -> bool:
    """Whether others are called in the place of a function, by the type of what it is given."""
    named = (getattr(one, "name", "") for one in getattr(node, "decorators", ()))
    return any(name in ("singledispatch", "singledispatchmethod") for name in named)


def is_everything(node: ir.Expr) -> bool:
    """Whether an expression is `locals()`: all that a function has."""
    return isinstance(node, ir.Call) and isinstance(node.func, ir.Name) and node.func.name == "locals"


def _remakes(run: Run, scope: Scope, decorator: ir.Expr) -> list[tuple[str, Value]]:
    """The name of a decorator and what it is, if it may make another function of the one that it is given."""
    named = decorator.func if isinstance(decorator, ir.Call) else decorator
    if not isinstance(named, (ir.Name, ir.Attr)) or named.name in _BUILTINS | attributes.SETTERS:
        return []
    value = run.evaluate(scope, named)
    if isinstance(value, Public):
        plain = value.name.partition(".")[0] in _SEEN or _leaves(value.name)
    else:
        plain = libraries.defines(value) or _leaves(named.name)
    return [] if plain else [(named.name, value)]


def _leaves(name: str) -> bool:
    """Whether a decorator says that it leaves a function what it is."""
    return _BESIDE(name) or is_tool(name) or only_reads(name)


def has_hidden_base(klass: Class, before: str = "") -> bool:
    """Whether a class derives from one that is neither seen nor torch's nor Python's; `before`: ahead of another."""
    ahead = takewhile(lambda base: isinstance(base, Class) or _text(base) != before, klass.bases)
    return any(
        has_hidden_base(base, before)
        if isinstance(base, Class)
        else isinstance(base, (Public, Symbol)) and _text(base).partition(".")[0] not in _SEEN
        for base in ahead
    )


def _text(base: Value) -> str:
    name = base.name if isinstance(base, Public) else text_of(base)
    return "object" if name in _BUILTINS else name
