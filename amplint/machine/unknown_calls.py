"""Calling what is not known: guessed only as far as its name and its use in the module say, and never further."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from amplint.dialects import vocabulary as words
from amplint.dialects.asked_losses import COUNTS, asks_for_mean, may_return_loss_first, returns_loss_first
from amplint.dialects.averages import UPDATES, is_average
from amplint.dialects.dialect import Role
from amplint.dialects.methods import CASTS, RUNS_AS_BEFORE, SPELLS
from amplint.dialects.public import QUIET, event_of, methods_of, with_graph
from amplint.dialects.unseen import gives_an_object, only_reads
from amplint.dialects.vocabulary import ending, within
from amplint.domains import (
    averages,
    clip_limits,
    criteria,
    loss_arithmetic,
    loss_scales,
    norms,
    parameter_dtypes,
    parameter_owners,
    precision,
    provenance,
    ranks,
    tensors,
    told_windows,
)
from amplint.flow import program as ir
from amplint.machine import builtins, hooks, libraries, places, step_methods, unseen
from amplint.machine.endless import says_endless
from amplint.protocol.events import Kind
from amplint.protocol.ranks import Wrapper
from amplint.protocol.values import with_changes
from amplint.state import known_numbers, roles
from amplint.state.contexts import NoSync
from amplint.state.counting import TOLD
from amplint.state.model import WINDOW
from amplint.state.run import MAX_DEPTH, Run
from amplint.state.values import (
    Criterion,
    Function,
    Gradient,
    Incomplete,
    Instance,
    Loss,
    Method,
    Once,
    Optimizer,
    Origin,
    Parameters,
    Scaler,
    Stream,
    Symbol,
    Trail,
    Value,
    last_part,
    text_of,
)

_CRITERION, _CRITERION_NAMED = ending(words.CRITERION), within(words.CRITERION_ITSELF)
METHOD = "of a method"
"""A tag of what code that is not seen has made of a method of an optimizer or a scaler, which is then `given`."""
_VERBS = frozenset(words.VERBS.split())
_MAKING = frozenset(words.MAKING.split())
_MAY_CLIP = within(words.CLIPPING)


def loss_of(run: Run, criterion: Criterion, args: list[Value], at: ir.Span) -> Value:
    """What a criterion returns: a mean over the batch, or something of which the weight is not known."""
    criteria.called(run, criterion, args, at)
    if told_windows.was_told(run, criterion) or any(isinstance(value, Symbol) and TOLD in value.tags for value in args):
        criterion = with_changes(criterion, averaged=None)
    if criterion.elementwise:
        ran, through = precision.of_loss(run, args), provenance.of(args)
        return Symbol("losses", Origin.DATA, tags=tensors.ELEMENTS, ran=ran, reach=through)
    handed = frozenset(text_of(value) for value in args if isinstance(value, Symbol))
    weight, trail = None if criterion.averaged is None else Fraction(1), precision.trail_of(run, args)
    return Loss(weight, trail=trail, of=handed, summed=criterion.averaged is False, ignores=criterion.ignores)


def call(
    run: Run, func: Symbol, args: list[Value], keywords: dict[str, Value], at: ir.Span, quiet: bool = False
) -> Value:
    """A call of a symbol, or of an attribute of one: a method of a role, a criterion, a model, or nothing known.

    `quiet`: it is known to do nothing to what it is handed.
    """
    if with_graph(func.text) and args and isinstance(args[0], Function | Method):
        return args[0]  # a closure, wrapped as optimizers do it
    if func.text == "object.__setattr__":
        return builtins.call(run, "setattr", args, keywords, at)
    if METHOD in func.tags:
        return _made_of_a_method(run, func, args, keywords, at)
    owner, _, method = func.text.rpartition(".")
    places.called(run, owner, "" if only_reads(method) else method)
    if owner and not run.in_batches:
        told_windows.tell(run, Symbol(owner), [*args, *keywords.values()])
    if owner and method in CASTS:
        parameter_dtypes.cast(run, owner, method, [*args, *keywords.values()])
    if owner and (method in _METHODS or _moves_a_schedule(owner, method)):
        found = _method(run, func, owner, method, args, keywords, at)
        if found is not None:
            return _present(func, found)
    elif owner and _hidden_from_us(method) and roles.role_of(run, Symbol(owner, func.origin)) == "optimizer":
        run.emit(Kind.OPAQUE, at, roles.optimizer(run, Symbol(owner, func.origin, governed=func.governed)))
    if not quiet and not _clips_numbers(run, func, args):
        unseen.hand_over(run, func, args, keywords, at)
    return _present(func, _plain(run, func, args, keywords, at))


def _present(func: Symbol, made: Value) -> Value:
    """What a call returned, which is never None if that is what its name says."""
    return with_changes(made, present=True) if isinstance(made, Symbol) and gives_an_object(func.text) else made


def _made_of_a_method(run: Run, func: Symbol, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> Value:
    """A call of what code that is not seen has made of a method: it may call it now and then, unless it stands in its
    place."""
    if func.name in _METHODS:
        return step_methods.call_named(run, func.given, func.name, args, keywords, at)
    run.emit(Kind.OPAQUE, at, func.given if isinstance(func.given, Optimizer) else None)
    return Symbol(f"{func.text}()", Origin.OPAQUE)


def _clips_numbers(run: Run, func: Symbol, args: list[Value]) -> bool:
    """Whether it is the `clip` of a tensor or an array, and not of whoever clips gradients."""
    owner, _, method = func.text.rpartition(".")
    if method not in ("clip", "clip_") or not owner or any(isinstance(value, (Parameters, Gradient)) for value in args):
        return False
    symbol = Symbol(owner)
    return not (_MAY_CLIP(symbol.name) or roles.is_model(run, symbol) or roles.role_of(run, symbol))


def _hidden_from_us(method: str) -> bool:
    """Whether nobody knows what a method of an optimizer does; a class belongs to a module that is called like one."""
    return method not in QUIET and not method[:1].isupper()


def _is_schedule(owner: str) -> bool:
    """Whether what a method belongs to is a schedule, by its name or that of what made it."""
    return roles.is_scheduler_name(roles.maker(owner) or last_part(owner))


def _moves_a_schedule(owner: str, method: str) -> bool:
    """Whether a schedule is moved on by a step of its own: `scheduler.step_update(updates)`."""
    return method.startswith("step_") and _is_schedule(owner)


def _method(
    run: Run, func: Symbol, owner: str, method: str, args: list[Value], keywords: dict[str, Value], at: ir.Span
) -> Value:
    symbol = with_changes(func, text=owner, offset=0, tags=func.tags & tensors.OF_ELEMENTS)
    if method in SPELLS and not args and symbol.origin is Origin.RUN:
        return symbol  # the same word in other letters
    if method in hooks.ALL:
        hooks.registered(run, method, args)
    if method == "no_sync" and not args:
        return NoSync(owner)
    if method in ("chunk", "split"):
        return _parts(run, symbol, args)
    if method == "backward" or (method == "step" and "losses" in keywords):
        return _backward(run, symbol, args, keywords, at)
    if method in UPDATES and is_average(symbol.name) and averages.updates(args, keywords):
        return averages.update(run, args, keywords, at)
    role = roles.role_of(run, symbol)
    if _moves_a_schedule(owner, method) or (_is_schedule(owner) and method == "step" and role is None):
        run.emit(Kind.SCHEDULER_TOLD, at, scheduler=roles.scheduler(run, symbol))  # too little is known of it
        return Symbol("None")
    handed = roles.played_by(run, args[0]) if method == "step" and args else None
    if role is None and (handed == "optimizer" or (method == "update" and ("scaler", symbol.text) in run.objects)):
        role = "scaler"
    if role == "scheduler" and symbol.governed:
        return Symbol("None")
    if role == "optimizer" and method == "zero_grad" and roles.is_model(run, symbol):
        run.emit(Kind.ZERO_GRAD, at)  # an engine: it is the model too, whoever steps it
    if role is not None and method in step_methods.OF_ROLE[role]:
        return step_methods.call_named(run, roles.play(run, symbol, role), method, args, keywords, at)
    if event_of(Role.MODEL, method) is Kind.ZERO_GRAD:
        step_methods.zero_model(run, text_of(symbol), at)
        return Symbol("None")
    if event_of(Role.MODEL, method) is Kind.CLIP and not args[1:]:
        detail = clip_limits.told(run, args, keywords, at)
        run.emit(Kind.CLIP, at, parameter_owners.optimizer_of(run, text_of(symbol)), detail=detail)
        return Symbol("norm", Origin.DATA)
    if method in ("parameters", "named_parameters"):
        return Parameters(text_of(symbol), Once(), symbol.wrapper)
    return tensors.call(run, symbol, method, args, keywords)


_METHODS = hooks.ALL | UPDATES | tensors.METHODS | SPELLS
_METHODS |= step_methods.OF_ROLE["scaler"] | step_methods.OF_ROLE["optimizer"] | methods_of(Role.MODEL)
_METHODS |= {"chunk", "split", "backward", "parameters", "named_parameters", "no_sync"}


def _parts(run: Run, symbol: Symbol, args: list[Value]) -> Value:
    """The parts of a batch: as many as are named, else as many as a window has."""
    count = known_numbers.number(run, args[0]) if args else None
    known = int(count) if count is not None and count > 1 else WINDOW
    return Stream(lambda index: Symbol(f"{symbol.text}[{index}]", Origin.DATA), known, window=True)


def _backward(run: Run, symbol: Symbol, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> Value:
    """`x.backward()`: a loss of its own, or a framework's backward that is handed one, or a list for those of a
    pipeline."""
    handed = [
        value for value in (*args, *keywords.values()) if isinstance(value, (Loss, Symbol)) and roles.is_loss(value)
    ]
    engine = bool(args) and symbol.origin is Origin.RUN and not roles.is_loss(symbol)  # of no batch: that is no loss
    if handed or engine or symbol.governed or "losses" in keywords:
        run.emit(Kind.OPAQUE, at)
        return Symbol("None")
    if libraries.takes_back(run, symbol.reach, symbol, at):
        return Symbol("None")
    run.loop_gate = None
    by_hand = any(value is not None for value in (*args[:1], keywords.get("gradient")))  # it may be scaled, or no loss
    scaled = None if by_hand else loss_scales.scaled(run, symbol)
    through = provenance.asked(run, symbol.reach)
    detail = precision.scales_elsewhere(run, symbol.ran, scaled) | ({"whole": "yes"} if symbol.forward else {})
    detail |= loss_arithmetic.divided_by(run, loss_arithmetic.unweighed(run, symbol))
    forward = symbol.ran
    hooks.before_backward(run, at)
    run.emit(
        Kind.BACKWARD,
        at,
        scaled=scaled,
        forward=forward,
        reach=through,
        detail=detail,
        **ranks.backward(run, symbol.reach, at),
    )
    hooks.after_backward(run, at)
    return Symbol("None")


_NO_FORWARD = QUIET | ranks.NO_FORWARD


@lru_cache(maxsize=8192)
def is_criterion(name: str) -> bool:
    """Whether something that is called is called a loss function: `focal_loss`, `criterion_D`, `loss_fn`."""
    said = words.words(name)
    return (_CRITERION(name) or _CRITERION_NAMED(name)) and said[0] not in _VERBS


def _is_made(run: Run, func: Symbol, values: list[Value]) -> bool:
    """Whether a class is called, of losses or of models, with settings and ahead of the batches: that makes one."""
    data = any(
        isinstance(value, Loss) or (isinstance(value, Symbol) and value.origin is Origin.DATA) for value in values
    )
    return func.name[:1].isupper() and not data and not run.in_batches


def _criterion(func: Symbol, values: list[Value], keywords: dict[str, Value], told: bool) -> Symbol:
    """A loss function of a class that is not seen: how it weighs is not known if it was told of the window, of another
    reduction than the mean, or of something that may hold either."""
    reduction = keywords.get("reduction", "mean") == "mean" and "size_average" not in keywords
    told = told or not reduction or isinstance(keywords, Incomplete) or any(_may_tell(value) for value in values)
    return Symbol(f"{func.text}()", Origin.OPAQUE, tags=frozenset({TOLD} if told else ()))


def _may_tell(value: Value) -> bool:
    """Whether a setting may be a whole object of settings, or the name of a reduction."""
    return (
        isinstance(value, Instance | dict)
        or value in ("sum", "none")
        or (isinstance(value, Symbol) and "." not in value.text)
    )


def _plain(run: Run, func: Symbol, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> Value:
    name, values = func.name, [*args, *keywords.values()]
    norms.called(run, name, values, at)
    computes = ranks.goes_past(func) or not only_reads(name)
    if computes and name not in _NO_FORWARD:
        ranks.handed(run, func, values, at)
    if name == "enter_context" and args:
        precision.enter(run, args[0])
        ranks.enter(run, args[0])
        return args[0]
    losses = [value for value in values if isinstance(value, Loss)]
    if losses and unseen.keeps_loss(run, name, values):
        return with_changes(losses[0], attached=False)
    if is_criterion(name):
        return _of_criterion(run, func, values, keywords, bool(losses))
    model = with_changes(func, text=func.text.removesuffix(_FORWARD)) if func.text.endswith(_FORWARD) else func
    runs = roles.is_model(run, func) and words.words(name)[0] not in _MAKING and not _is_made(run, func, values)
    if model is not func or runs:
        return _output(run, model, args, keywords)
    data = losses or any(isinstance(value, Symbol) and value.origin is Origin.DATA for value in values)
    counted = run.in_batches and any(_may_count(run, value) for value in values)
    known = func.origin is Origin.RUN and all(_constant(value) for value in values) and not counted
    settled = known or not run.in_batches  # what is asked before the loop cannot change while it runs
    origin = Origin.DATA if data else Origin.RUN if settled and func.origin is Origin.RUN else Origin.OPAQUE
    inner = ", ".join(map(text_of, values))[:60]
    through = provenance.of([func, *(values if roles.is_loss_name(name) else ())])  # others may only look at it
    if ranks.goes_past(func):
        through |= provenance.through(run, func, values)
    ran = precision.of_call(run, func)
    text = f"{func.text}({inner})"
    given, marks = _given(run, func, values)
    knows = (data or not run.in_batches) and told_windows.speaks_of_window(run, values)
    tags = marks | ({TOLD} if knows else set())
    governed = func.governed
    made = Symbol(text, origin, governed=governed, tags=tags, ran=ran, half=func.half, reach=through, given=given)
    if func.wrapper is not Wrapper.NONE and name in RUNS_AS_BEFORE:
        made = with_changes(made, wrapper=func.wrapper)  # `DDP(model).to(device)` is the wrapped model
    return with_changes(made, endless=True) if says_endless(text) else made


def _of_criterion(
    run: Run, func: Symbol, values: list[Value], keywords: dict[str, Value], of_losses: bool
) -> Symbol | Loss:
    """What something called a loss function returns: one, where it is made, or a loss."""
    divides = of_losses or told_windows.was_told(run, func) or told_windows.speaks_of_window(run, values)
    if not values or _is_made(run, func, values):
        return _criterion(func, values, keywords, divides)
    trail = precision.trail_of(run, values)
    if roles.is_model(run, func):
        trail.reach = provenance.through(run, func, values)
    trail.of_all = ranks.speaks_of_all(func.name)
    return Loss(None if divides else Fraction(1), trail=trail)


_FORWARD = ".forward"
"""What a model alone has, whatever it is called."""


def _given(run: Run, func: Symbol, values: list[Value]) -> tuple[Value, frozenset[str]]:
    """The part of the step, or that with the method, which a call is given, and what is said of what it returns."""
    if not values:
        return None, frozenset()
    owners = [owner for value in values if (owner := roles.of_a_part(run, value)) is not None]
    if owners and not only_reads(func.name):
        return owners[0], frozenset({METHOD})
    optimizers = [value for value in values if roles.is_an_optimizer(run, value)]
    parts = optimizers or [value for value in values if isinstance(value, Scaler)]
    known = len(parts) == 1 and not run.program.libraries  # what wraps which is theirs
    return parts[0] if known else None, frozenset()


def _may_count(run: Run, value: Value) -> bool:
    """Whether a value may be what counts the batches: a number, by the loop for all that is known, or who hands it."""
    if isinstance(value, Symbol):
        return value.text in run.model.counters
    return isinstance(value, int) and not isinstance(value, bool)


def _output(run: Run, model: Symbol, args: list[Value], keywords: dict[str, Value]) -> Value:
    """What a model returns."""
    ran = precision.of_forward(run, model)
    through, half = provenance.through(run, model, [*args, *keywords.values()]), criteria.half(run, model)
    if asks_for_mean(run.program.packages, keywords):
        return Loss(Fraction(1), trail=Trail(forward=ran, reach=through))
    text, governed = f"{model.text}(...)", model.governed
    divides = told_windows.was_told(run, model) or told_windows.speaks_of_window(run, [*args, *keywords.values()])
    known = COUNTS not in keywords and not divides
    first = _first(run, keywords)
    return Symbol(text, Origin.DATA, 0, known, governed, first, ran=ran, half=half, reach=through)


def _first(run: Run, keywords: dict[str, Value]) -> frozenset[str]:
    """Whether what a model returns begins with its loss: it was asked for, or it may have been."""
    if returns_loss_first(run.program.packages, keywords):
        return tensors.LOSS_FIRST
    unknown = isinstance(keywords, Incomplete) and may_return_loss_first(run.program.packages)
    return tensors.LOSS_PERHAPS_FIRST if unknown else frozenset()


def _constant(value: Value) -> bool:
    if type(value) is Symbol:
        return value.origin is Origin.RUN
    return value is None or isinstance(value, (str, int, float, Fraction))


def hand_over_if_lost(
    run: Run, node: ir.Function | ir.Lambda, args: list[Value], keywords: dict[str, Value], at: ir.Span
) -> None:
    """A function of the program that is not run although it acts (recursion too deep) is code not followed."""
    if isinstance(node, ir.Function) and node.relevant and len(run.stack) >= MAX_DEPTH:
        run.emit(Kind.OPAQUE, at)
