"""Calls of public functions and constructors, by the qualified name that the imports give."""

from __future__ import annotations

from amplint.dialects import GOVERNS, public
from amplint.dialects.averages import AVERAGES
from amplint.dialects.constructors import role_of
from amplint.dialects.decays import DECOUPLED, MODES
from amplint.dialects.dialect import Role, ScalerClass
from amplint.dialects.python import WITHOUT_TRAINING
from amplint.dialects.syntax import DEFAULT_DTYPE, DEVICE
from amplint.dialects.unseen import gives_an_object
from amplint.domains import (
    clip_limits,
    norms,
    parameter_dtypes,
    penalties,
    precision,
    provenance,
    ranks,
    reductions,
    scaler_switches,
    schedules,
    tensors,
)
from amplint.domains.parameter_owners import grouped, missed, models_of, reached_by, sole_owner, whole
from amplint.flow import program as ir
from amplint.machine import step_methods, unknown_calls, unseen
from amplint.machine.primitives import PLAIN, PRIMITIVES
from amplint.protocol.events import ELEMENTS, Kind
from amplint.protocol.precision import MISSES_FLOAT16, Precision
from amplint.protocol.ranks import Wrapper
from amplint.protocol.values import with_changes
from amplint.state import roles, truths
from amplint.state.contexts import Averaged
from amplint.state.counting import tags_of
from amplint.state.run import Run
from amplint.state.values import (
    Gradient,
    Incomplete,
    Keywords,
    Optimizer,
    Origin,
    Parameters,
    Scaler,
    Stream,
    Symbol,
    Value,
    text_of,
)


def call(run: Run, name: str, args: list[Value], keywords: Keywords, at: ir.Span, member: bool = True) -> Value:
    """The value of calling a public name; `member`: an import binds not it, but what it is a member of."""
    if name in AVERAGES:
        return Averaged(AVERAGES[name])
    role = role_of(name)
    if role is not None:
        return _made(run, role, name, args, keywords, at)
    if name in public.EVENTS:
        return _event(run, name, args, keywords, at)
    if name in reductions.NAMES:
        return unknown_calls.loss_of(run, reductions.made(run, name, args, keywords), [*args, *keywords.values()], at)
    if name == DEFAULT_DTYPE and args:
        parameter_dtypes.default(run, args[0])
    if name in public.TRANSPARENT:
        return args[0] if args else _handed_through(name, keywords)
    if ranks.wraps(name):
        return ranks.wrap(run, name, args, keywords)
    if precision.is_autocast(name):
        return precision.autocast(run, name, args, keywords)
    if name in public.NORMS and args:
        norms.of_gradients(run, args[0], at)
    if args and isinstance(args[0], Gradient) and name in public.COLLECTIVES:
        step_methods.reduce_gradient(run, args[0], at)
    method = public.in_place(name)
    if method and args and (gradient := norms.one_of(args[0])) is not None:
        return step_methods.of_gradient(run, gradient, method, args[1:], at)
    if name in public.PRIMITIVES and (made := _special(run, name, args, keywords, at)) is not PLAIN:
        return made
    made = _unknown(run, name, args, keywords, at, member)
    parameter_dtypes.loaded(run, name, keywords, made)
    return made


def _handed_through(name: str, keywords: Keywords) -> Value:
    """What a wrapper hands through that is told it by name; a bar that is drawn by hand counts to a total."""
    total = keywords.get("total")
    if isinstance(total, Symbol) and "iterable" not in keywords:
        return Stream(lambda index: index, bound=total)
    return next(iter(keywords.values()), Symbol(f"{name}()"))


def _special(run: Run, name: str, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """What a primitive of the machine makes of a call of a public function."""
    return PRIMITIVES[public.PRIMITIVES[name]](run, args, keywords, at)


_MOCKS = ("unittest.mock.", "mock.")
"""What stands in for anything in a test; what it does is the test's affair."""


def _unknown(run: Run, name: str, args: list[Value], keywords: Keywords, at: ir.Span, member: bool) -> Value:
    governed = name.partition(".")[0] in GOVERNS or name.startswith(_MOCKS)
    if not governed or _is_optimizer(name, args):
        if public.computes(name):
            made = _tensor(name, args, keywords)
            if public.makes_a_module(name):
                parameter_dtypes.module(run, made, keywords)
            return made
        if name.rpartition(".")[2] in public.CLIPS and args and not _holds_a_part(run, [*args, *keywords.values()]):
            return _clipped_elsewhere(run, args, keywords, at)
        quiet = (run.path, name) in run.program.quiet or name.partition(".")[0] in WITHOUT_TRAINING
        tags = frozenset() if member else frozenset({unseen.ITSELF})
        return unknown_calls.call(run, Symbol(name.lstrip("."), tags=tags), args, keywords, at, quiet)
    inner = ", ".join(text_of(value) for value in (*args, *keywords.values()))[:60]
    return Symbol(f"{name}({inner})", Origin.RUN, governed=True, present=gives_an_object(name))


def _is_optimizer(name: str, args: list[Value]) -> bool:
    """Whether a framework's own optimizer is made, which steps as torch's do: `timm.optim.mars.Mars(parameters)`."""
    *modules, own = name.split(".")
    handed = bool(args) and isinstance(args[0], (Parameters, list))
    return handed and own[:1].isupper() and "optim" in modules


def _holds_a_part(run: Run, values: list[Value]) -> bool:
    """Whether a scaler or an optimizer is among some values: whoever is handed one may do more than its name says."""
    played = [roles.role_of(run, value) for value in values if isinstance(value, Symbol)]
    return any(isinstance(value, (Scaler, Optimizer)) for value in values) or not _HELD.isdisjoint(played)


_HELD = frozenset({"scaler", "optimizer"})


def _clipped_elsewhere(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """A function of another module that is called like a clip that is known: it clips what it is handed, in its own
    way, or only measures it where it is handed no limit."""
    models = models_of(args[0])
    optimizer = sole_owner(run, next(iter(models))) if len(models) == 1 else grouped(run, args[0])
    if any(value is None for value in (*args[1:2], *keywords.values())):
        norms.measured(run, at, optimizer)
    else:
        run.emit(Kind.CLIP, at, optimizer, detail=clip_limits.told_elsewhere(run, [*args[1:], *keywords.values()], at))
    return Symbol("norm", Origin.DATA)


def _tensor(name: str, args: list[Value], keywords: Keywords) -> Symbol:
    """A torch function: unknown, computed from data unless it asks the machine."""
    values, short = [*args, *keywords.values()], name.rpartition(".")[2]
    inner = ", ".join(map(text_of, values))[:60]
    module = public.makes_a_module(name)
    origin = Origin.RUN if module or public.asks_the_machine(name) else Origin.DATA
    own = Precision.OFF if name.startswith(public.PLAIN) else Precision.UNKNOWN
    through = penalties.without_length(short, provenance.of(values))
    if name == DEVICE and values and isinstance(values[0], str):
        return Symbol(f"{name}({inner})", origin, tags=frozenset({DEVICE}), given=values[0])
    given = [value for value in values if isinstance(value, Symbol)]
    half = bool(given) and all(value.half for value in given) and "dtype" not in keywords
    made = Symbol(f"{name}({inner})", origin, ran=own, half=half, reach=through)
    made = with_changes(made, present=module or name in public.TENSORS)
    return tensors.computed(made, short, values)


def _made(run: Run, role: Role, name: str, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    short = name.rpartition(".")[2]
    if role is Role.OPTIMIZER:
        made = _optimizer(run, short, args, keywords, at)
        made.has = public.attributes_of(name)
        return made
    if role is Role.SCALER:
        return _scaler(run, name, args, keywords, at)
    if role is Role.SCHEDULER:
        return schedules.scheduler(run, name, args, keywords, at)
    return reductions.made(run, name, args, keywords)


_FROM = frozenset({Origin.DATA, Origin.OPAQUE})


def _scaler(run: Run, name: str, args: list[Value], keywords: Keywords, at: ir.Span) -> Scaler:
    """A new scaler. One that begins at a scale that was computed may go on where another one ended; how often a
    function is called is not always known, and what a loop of its own makes needs no caller."""
    first = keywords.get("init_scale", next((value for value in args if not isinstance(value, str)), None))
    begins = (bool(run.loops) or not run.assumed) and not (isinstance(first, Symbol) and first.origin in _FROM)
    maker = (*run.stack, run.site(at)) if begins else ()
    kind = public.SCALERS.get(name, ScalerClass())
    asked = keywords.get("enabled", Symbol("enabled") if isinstance(keywords, Incomplete) else True)
    asked = truths.as_setting(run, asked)
    made = Scaler(run.name("scaler"), asked, True, maker, kind.sharded, of_cuda=_of_cuda(kind, args, keywords))
    made.marks = {MISSES_FLOAT16: "yes"} if scaler_switches.misses_float16(asked) else {}
    if not run.in_framework:  # a framework makes its own once
        run.emit(Kind.SCALER_CREATED, at, scaler=made)
    return made


def _of_cuda(kind: ScalerClass, args: list[Value], keywords: Keywords) -> bool:
    """Whether a scaler is one for CUDA, which is what they are for unless another device is named."""
    named = keywords.get("device", next((value for value in args if isinstance(value, str)), "cuda"))
    device = named if kind.device is None else kind.device
    return isinstance(device, str) and device == "cuda"


def _optimizer(run: Run, short: str, args: list[Value], keywords: Keywords, at: ir.Span) -> Optimizer:
    handed = args[0] if args else keywords.get("params")
    consume(handed)
    models, every = models_of(handed), whole(handed)
    half = "fused" not in keywords and parameter_dtypes.are_half(run, handed)
    known = Precision.FLOAT16 if half else Precision.UNKNOWN
    made = Optimizer(run.name("optimizer"), short, models, precision=known, whole=every, made=at)
    made.fused = "fused" in keywords
    run.optimizers[made.key] = made
    mode = next((keywords[name] for name in MODES if name in keywords), short in DECOUPLED)
    coupled = keywords.get("weight_decay", 0) != 0 and mode is not True
    slower = {"slower": "the rate, which is divided,"} if "divided" in _tags_of_rates(args, keywords) else {}
    detail = {"algorithm": short, "decays": "yes" if coupled else "no"} | slower
    run.emit(Kind.CREATE, at, made, reach=provenance.themselves(reached_by(handed)), detail=detail)
    return made


def _tags_of_rates(args: list[Value], keywords: Keywords) -> frozenset[str]:
    """What is known of an optimizer's rate, and of those of its groups."""
    handed = args[0] if args else keywords.get("params")
    groups = [one for one in handed if isinstance(one, dict)] if isinstance(handed, list | tuple) else []
    rates = [*args[1:2], keywords.get("lr"), *(one.get("lr") for one in groups)]
    return frozenset().union(*map(tags_of, rates))


def consume(value: Value) -> None:
    """Goes through an iterator of parameters, if the value is or holds one."""
    if isinstance(value, Parameters) and value.once is not None:
        value.once.used = True
    for inner in value if isinstance(value, list) else [value.get("params")] if isinstance(value, dict) else []:
        consume(inner)


def _event(run: Run, name: str, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    handed = args[0] if args else keywords.get("parameters")
    models = models_of(handed)
    if isinstance(handed, Parameters) and handed.once is not None:
        if handed.once.used:
            run.emit(Kind.EMPTY_CLIP, at)
            return Symbol("norm", Origin.DATA)
        handed.once.used = True
    held = handed.holder if isinstance(handed, Parameters) else None
    optimizer = held or (sole_owner(run, next(iter(models))) if len(models) == 1 else grouped(run, handed))
    if isinstance(handed, Symbol) and handed.governed:
        run.emit(Kind.OPAQUE, at)
        return Symbol("norm", Origin.DATA)
    detail = clip_limits.told(run, args[1:], keywords, at)
    if not run.caught and (args[3] if len(args) > 3 else keywords.get("error_if_nonfinite")) is True:
        detail["raises"] = "yes"
    detail |= {ELEMENTS: "yes"} if name.endswith(("clip_grad_value_", "clip_grad_value")) else {}
    wrapper = ranks.clipped(handed) if "norm" in name else Wrapper.NONE  # a value can be clipped shard by shard
    if clip_limits.endless(clip_limits.threshold(args[1:], keywords)):
        norms.measured(run, at, optimizer, detail)
        return Symbol("norm", Origin.DATA)
    run.emit(public.EVENTS[name], at, optimizer, detail=detail, wrapper=wrapper, reach=provenance.themselves(models))
    for other in missed(run, models) if optimizer is not None else ():
        run.emit(Kind.MISSED_CLIP, at, other)
    return Symbol("norm", Origin.DATA)


def is_gradient(value: Value) -> bool:
    """Whether a value is a parameter's gradient."""
    return isinstance(value, Gradient)
