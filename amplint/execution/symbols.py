"""Calling what is not known: guessed only as far as its name and its use in the module say, and never further."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from amplint.dialects.asked_losses import COUNTS, asks_for_mean
from amplint.dialects.averages import UPDATES, is_average
from amplint.dialects.gradients import writes_gradients
from amplint.dialects.schedules import UNREAD
from amplint.dialects.torch import TORCH
from amplint.execution import arithmetic, averages, criteria, libraries, norms, places, precision, ranks, reach, tensors
from amplint.execution.contexts import NoSync
from amplint.execution.counts import Length
from amplint.execution.endless import says_endless
from amplint.execution.run import WINDOW, Cut, Run
from amplint.execution.values import (
    Criterion,
    Function,
    Gradient,
    Instance,
    Loss,
    Method,
    Once,
    Optimizer,
    Origin,
    Parameters,
    Scaler,
    Scheduler,
    Stream,
    Symbol,
    Trail,
    Value,
    last_part,
    text_of,
)
from amplint.execution.words import says
from amplint.flow import program as ir
from amplint.protocol.events import Kind
from amplint.protocol.ranks import Wrapper
from amplint.protocol.values import with_changes

_CRITERION = says(
    r"(?i)^(?!(compute|get|calc|calculate|train|forward|eval|make|build|update|log|print)_)\w*(crit(erion)?\w*|loss_?(fn|fun|func|function|f|module|layer)?|objective)(_?\w{1,3})?$"
)
_MODEL = says(
    r"(?i)(model|net(work)?|module|ddp|gpt|llm|bert|encoder|decoder|student|generator|discriminator|learner|policy|unet|vae)"
    r"\w*$|^(net|model)\w*$"
)
_OPTIMIZER_CLASS = says(r"^[A-Z]\w*(Adam|SGD|Lamb|Lion|Adafactor|Optim)")  # BertAdam is no BERT
_LOSS_CLASS = says(r"(?i)loss|criterion|objective")
_HARMLESS = says(
    r"(?i)lr|learning_?rate|save|checkpoint|ckpt|log|sched|warm_?up|state|print|summary|count|describe|repr|str$|len|"
    r"info|load|resume|hasattr|getattr|isinstance|type|id$|adjust|set_|get_|watch|format"
)
_HIDDEN = says(
    r"(?i)backward|zero_?grad|step|optimi[sz]|unscale|clip|update_param|replay$|train_(batch|one)|scale_loss"
)
_MAY_CLIP = says(r"(?i)clip|grad|norm|optim|engine|trainer|accelerator|fabric|scaler|self|torch|utils|amp$")
_RESTORES = says(r"(?i)load|resume|restore")
_SCALER = re.compile(r"(?i)(?<!standard)(?<!min_max)(?<!minmax)(?<!std)(?<!robust)scalers?$")
_TENSOR_SCALERS = re.compile(r"(?i)(standard|min_?max|robust|target|feature|data|label|y|x|tgt|price)_?scalers?$")
_SCHEDULER = re.compile(r"(?i)sched|^lr_?s|_lr$|warmup")
_OPTIMIZER = re.compile(r"(?i)optim|(^|_)opts?([_\d]|$)")
_GIVEN = re.compile(r"^(optimi[sz]er(_\w{1,2})?|(grad_|loss_|amp_)?scaler)$|\[\*\]$")
"""Names under which a part of what came out of something that was not followed is what it is called; or an element."""
_KEEPS_LOSS = says(r"(?i)reduce|gather|sync|all_|mean|to$|cuda|float|item")


def is_loss_name(name: str) -> bool:
    """Whether a class is called a loss."""
    return _LOSS_CLASS(name)


def is_model(run: Run, symbol: Symbol) -> bool:
    """Whether a symbol is called, or used as, a model."""
    used = run.program.usage.get(symbol.name, frozenset())
    if _OPTIMIZER_CLASS(symbol.name):
        return False
    return _MODEL(symbol.name) or bool(used & {"parameters", "train", "eval", "named_parameters"})


def loss_of(run: Run, criterion: Criterion, args: list[Value], at: ir.Span) -> Value:
    """What a criterion returns: a mean over the batch, or something of which the weight is not known."""
    criteria.called(run, criterion, args, at)
    if criterion.elementwise:
        return Symbol("losses", Origin.DATA, ran=precision.of_loss(run, args), reach=reach.of(args))
    handed = frozenset(text_of(value) for value in args if isinstance(value, Symbol))
    weight, trail = None if criterion.averaged is None else Fraction(1), precision.trail_of(run, args)
    return Loss(weight, trail=trail, of=handed, summed=criterion.averaged is False, ignores=criterion.ignores)


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
        run.objects[key] = _made(run, role, value)
        if role == "optimizer":
            run.optimizers[run.objects[key].key] = run.objects[key]
    return run.objects[key]


_INSIDE = ".optimizer"


def _held(run: Run, text: str) -> Value:
    """The optimizer inside of an object that looks like one (`wrapper.optimizer`), or around one: what the one zeroes,
    the other steps; None if there is none."""
    outer = run.objects.get(("optimizer", text.removesuffix(_INSIDE))) if text.endswith(_INSIDE) else None
    return outer if outer is not None else run.objects.get(("optimizer", text + _INSIDE))


def _made(run: Run, role: str, symbol: Symbol) -> Value:
    if role == "optimizer" and run.taken is not None:
        return run.taken  # there is no other one, and it came back
    if role == "optimizer":
        known = symbol.text in run.optimizers
        return Optimizer(run.name(symbol.text) if known else symbol.text, governed=symbol.governed)
    if role == "scaler":
        return Scaler(symbol.text)
    unread = UNREAD in run.program.usage.get(symbol.name, ())
    return Scheduler(symbol.text, said={"unread": "yes"} if unread else {})


def role_of(run: Run, symbol: Symbol) -> str | None:
    """`optimizer`, `scaler` or `scheduler`, by use in the module and by name; None when neither says."""
    annotated = run.annotated.get(symbol.text)
    if annotated in ("optimizer", "scaler", "scheduler"):
        return annotated
    if symbol.origin is Origin.DATA and not _GIVEN.search(symbol.text):
        return None
    return _role(symbol.name, _used(run, symbol))


def _used(run: Run, symbol: Symbol) -> frozenset[str]:
    """The methods that are called on a symbol; on an element of `scalers`, those on `scaler`."""
    name = symbol.name
    singular = name.removesuffix("s") if symbol.text.endswith("[*]") else name
    return run.program.usage.get(name) or run.program.usage.get(singular, frozenset())


@lru_cache(maxsize=4096)
def _role(name: str, used: frozenset[str]) -> str | None:
    if ("unscale_" in used or ("scale" in used and used & {"step", "update"})) and "zero_grad" not in used:
        return None if _TENSOR_SCALERS.search(name) else "scaler"
    if _SCALER.search(name) and "step" in used and not _TENSOR_SCALERS.search(name):
        return "scaler"
    if "step" in used and _SCHEDULER.search(name):
        return "scheduler"
    if ("zero_grad" in used and "step" in used) or _OPTIMIZER.search(name):
        return "optimizer"
    return None


def call(
    run: Run, func: Symbol, args: list[Value], keywords: dict[str, Value], at: ir.Span, quiet: bool = False
) -> Value:
    """A call of a symbol, or of an attribute of one: a method of a role, a criterion, a model, or nothing known.

    `quiet`: it is known to do nothing to what it is handed.
    """
    if func.text.startswith("torch.enable_grad(") and args and isinstance(args[0], Function | Method):
        return args[0]  # a closure, wrapped as optimizers do it
    owner, _, method = func.text.rpartition(".")
    places.called(run, owner, "" if _HARMLESS(method) else method)
    if owner and method in _METHODS:
        found = _method(run, func, owner, method, args, keywords, at)
        if found is not None:
            return found
    elif owner and _hidden_from_us(method) and role_of(run, Symbol(owner, func.origin)) == "optimizer":
        run.emit(Kind.OPAQUE, at, play(run, Symbol(owner, func.origin, governed=func.governed), "optimizer"))
    if not quiet and not _clips_numbers(run, func, args):
        hand_over(run, func.text, args, keywords, at)
    return _plain(run, func, args, keywords, at)


def _clips_numbers(run: Run, func: Symbol, args: list[Value]) -> bool:
    """Whether it is the `clip` of a tensor or an array, and not of whoever clips gradients."""
    owner, _, method = func.text.rpartition(".")
    if method not in ("clip", "clip_") or not owner or any(isinstance(value, (Parameters, Gradient)) for value in args):
        return False
    symbol = Symbol(owner)
    return not (_MAY_CLIP(symbol.name) or is_model(run, symbol) or role_of(run, symbol))


def _hidden_from_us(method: str) -> bool:
    """Whether nobody knows what a method of an optimizer does; a class belongs to a module that is called like one."""
    return method not in TORCH.quiet and not method[:1].isupper()


def _method(
    run: Run, func: Symbol, owner: str, method: str, args: list[Value], keywords: dict[str, Value], at: ir.Span
) -> Value:
    from amplint.execution import methods

    symbol = with_changes(func, text=owner, offset=0, tags=frozenset())
    if method in HOOKS:
        run.hooked = True
    if method == "no_sync" and not args:
        return NoSync(owner)
    if method in ("chunk", "split"):
        return _parts(run, symbol, args)
    if method == "backward" or (method == "step" and "losses" in keywords):
        return _backward(run, symbol, args, keywords, at)
    if method in UPDATES and is_average(symbol.name) and averages.updates(args, keywords):
        return averages.update(run, args, keywords, at)
    role = role_of(run, symbol)
    named = _SCHEDULER.search(_maker(owner) or symbol.name) is not None
    if named and (method == "step_update" or (method == "step" and role is None)):
        run.emit(Kind.SCHEDULER_TOLD, at, scheduler=play(run, symbol, "scheduler"))  # of which too little is known
        return Symbol("None")
    handed = _plays(run, args[0]) if method == "step" and args else None
    if role is None and (handed == "optimizer" or (method == "update" and ("scaler", symbol.text) in run.objects)):
        role = "scaler"
    if role == "scheduler" and symbol.governed:
        return Symbol("None")
    if role == "optimizer" and method == "zero_grad" and is_model(run, symbol):
        run.emit(Kind.ZERO_GRAD, at)  # an engine: it is the model too, whoever steps it
    if role is not None and method in methods.OF_ROLE[role]:
        return methods.call_named(run, play(run, symbol, role), method, args, keywords, at)
    if method == "zero_grad":
        methods.zero_model(run, text_of(symbol), at)
        return Symbol("None")
    if method in ("clip_grad_norm_", "clip_grad_norm") and not args[1:]:
        detail = {"limit": text_of(args[0])} if args else {}
        run.emit(Kind.CLIP, at, methods.optimizer_of(run, text_of(symbol)), detail=detail)
        return Symbol("norm", Origin.DATA)
    if method in ("parameters", "named_parameters"):
        return Parameters(text_of(symbol), Once(), symbol.wrapper)
    return tensors.call(run, symbol, method, args, keywords)


def _maker(text: str) -> str:
    """The name of the function that something not known was returned by, empty for what no call returned."""
    called, parenthesis, _ = text.partition("(")
    return last_part(called) if parenthesis else ""


HOOKS = frozenset({"register_hook", "register_comm_hook", "register_post_accumulate_grad_hook"})


_METHODS = HOOKS | {"chunk", "split", "backward", "parameters", "named_parameters", "step", "step_update", "zero_grad"}
_METHODS |= UPDATES | tensors.METHODS
_METHODS |= {"no_sync", "scale", "unscale_", "update", "is_enabled", "get_scale", "clip_grad_norm_", "clip_grad_norm"}


def _parts(run: Run, symbol: Symbol, args: list[Value]) -> Value:
    """The parts of a batch: as many as are named, else as many as a window has."""
    count = arithmetic.number(run, args[0]) if args else None
    known = int(count) if count is not None and count > 1 else WINDOW
    return Stream(lambda index: Symbol(f"{symbol.text}[{index}]", Origin.DATA), known, window=True)


def _backward(run: Run, symbol: Symbol, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> Value:
    """`x.backward()`: a loss of its own, or a framework's backward that is handed one, or a list for those of a
    pipeline."""
    handed = [value for value in (*args, *keywords.values()) if isinstance(value, (Loss, Symbol)) and _lossy(value)]
    engine = bool(args) and symbol.origin is Origin.RUN and not _lossy(symbol)  # of no batch: that is no loss
    if handed or engine or symbol.governed or "losses" in keywords:
        run.emit(Kind.OPAQUE, at)
        return Symbol("None")
    run.loop_gate = None
    scaled = _scaled(symbol)
    forward = precision.of_backward(run, symbol.ran, scaled)
    through = reach.asked(run, symbol.reach)
    detail = {"whole": "yes"} if symbol.forward else {}
    run.emit(Kind.BACKWARD, at, scaled=scaled, forward=forward, reach=through, detail=detail, **ranks.backward(run, at))
    return Symbol("None")


def _scaled(symbol: Symbol) -> bool | None:
    """A symbol called scaled may have been scaled anywhere; another one was not."""
    return None if "scale" in symbol.text else False


def _lossy(value: Value) -> bool:
    return isinstance(value, Loss) or "loss" in text_of(value).lower() or (isinstance(value, Symbol) and value.forward)


def _plays(run: Run, value: Value) -> str | None:
    if isinstance(value, Optimizer):
        return "optimizer"
    return role_of(run, value) if isinstance(value, Symbol) else None


def _plain(run: Run, func: Symbol, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> Value:
    norms.called(run, func.name, [*args, *keywords.values()], at)
    computes = func.wrapper is Wrapper.INSIDE or not _HARMLESS(func.name)
    if computes and func.name not in TORCH.quiet | ranks.NO_FORWARD:
        ranks.forward(run, func, [*args, *keywords.values()], at)
    if func.name == "enter_context" and args:
        precision.enter(run, args[0])
        ranks.enter(run, args[0])
        return args[0]
    if _CRITERION(func.name) and func.name != "backward":
        divides = any(
            arithmetic.window_of(run, value) or isinstance(value, Length) for value in (*args, *keywords.values())
        )
        if not args and not keywords:
            return Symbol(func.text + "()", Origin.OPAQUE)
        trail = precision.trail_of(run, [*args, *keywords.values()])
        if is_model(run, func):
            trail.reach = reach.through(run, func.text, [*args, *keywords.values()])
        return Loss(None if divides else Fraction(1), trail=trail)
    if is_model(run, func):
        return _output(run, func, args, keywords)
    values = (*args, *keywords.values())
    losses = [value for value in values if isinstance(value, Loss)]
    if losses and _KEEPS_LOSS(func.name):
        return with_changes(losses[0], attached=False)
    data = losses or any(isinstance(value, Symbol) and value.origin is Origin.DATA for value in values)
    whole = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    counted = run.in_batches and bool(whole)  # by the loop, for all that is known
    known = func.origin is Origin.RUN and all(_constant(value) for value in values) and not counted
    settled = known or not run.in_batches  # what is asked before the loop cannot change while it runs
    origin = Origin.DATA if data else Origin.RUN if settled and func.origin is Origin.RUN else Origin.OPAQUE
    inner = ", ".join(text_of(value) for value in values)[:60]
    through = reach.of([func, *(values if "loss" in func.name.lower() else ())])  # others may only look at it
    ran = precision.of_call(run, func)
    text = f"{func.text}({inner})"
    made = Symbol(text, origin, governed=func.governed, ran=ran, half=func.half, reach=through)
    return with_changes(made, endless=True) if says_endless(text) else made


def _output(run: Run, model: Symbol, args: list[Value], keywords: dict[str, Value]) -> Value:
    """What a model returns."""
    ran = precision.of_forward(run, model)
    through, half = reach.through(run, model.text, [*args, *keywords.values()]), criteria.half(run, model)
    if asks_for_mean(run.program.packages, keywords):
        return Loss(Fraction(1), trail=Trail(forward=ran, reach=through))
    text, governed = f"{model.text}(...)", model.governed
    known = COUNTS not in keywords
    return Symbol(text, Origin.DATA, forward=known, governed=governed, ran=ran, half=half, reach=through)


def _constant(value: Value) -> bool:
    return isinstance(value, (str, int, float, type(None), Fraction)) or (
        isinstance(value, Symbol) and value.origin is Origin.RUN
    )


def hand_over(run: Run, name: str, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> None:
    """Code that cannot be followed is handed an optimizer, a scaler or a loss: what it does with them is not known."""
    short = name.rpartition(".")[2]
    libraries.handed_over(run, [*args, *keywords.values()])
    places.handed_over(run, [] if _HARMLESS(short) or not run.in_batches else [*args, *keywords.values()])
    values = [inner for value in (*args, *keywords.values()) for inner in _flat(value)]
    roles = [(value, _plays(run, value) or _kind(value)) for value in values]
    hidden = _HIDDEN(short) and not _HARMLESS(short)
    for value, role in roles:
        if role == "optimizer" and (hidden or not _HARMLESS(short)):
            run.emit(Kind.OPAQUE, at, play(run, value, "optimizer"))
        if isinstance(value, Scaler) and _RESTORES(short):
            value.maker = ()  # its state does not begin where it was made
        if role == "scaler" and not _HARMLESS(short):
            run.emit(Kind.OPAQUE, at)
    changes = not _HARMLESS(short) and any(map(_many_gradients, (*args, *keywords.values())))
    changes = changes or writes_gradients(short)
    if (hidden or changes) and not any(role == "optimizer" for _, role in roles):
        run.emit(Kind.OPAQUE, at)


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
        return [held for held in value.attributes.values() if isinstance(held, (Optimizer, Scaler, Symbol))]
    return [value]


def _kind(value: Value) -> str | None:
    return "scaler" if isinstance(value, Scaler) else None


def hand_over_if_lost(
    run: Run, node: ir.Function | ir.Lambda, args: list[Value], keywords: dict[str, Value], at: ir.Span
) -> None:
    """A function of the program that is not run although it acts (recursion too deep) is code not followed."""
    from amplint.execution.run import MAX_DEPTH

    if isinstance(node, ir.Function) and node.relevant and len(run.stack) >= MAX_DEPTH:
        run.emit(Kind.OPAQUE, at)
