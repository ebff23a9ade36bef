"""Calls of public functions, by the qualified name that the imports give: torch's constructors and functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import chain

from amplint.dialects import DIALECTS, GOVERNS
from amplint.dialects.averages import AVERAGES
from amplint.dialects.constructors import role_of
from amplint.dialects.dialect import Role
from amplint.dialects.torch import CLIPS
from amplint.dialects.unseen import gives_an_object
from amplint.domains import (
    clip_limits,
    norms,
    penalties,
    precision,
    provenance,
    ranks,
    reductions,
    scaler_switches,
    schedules,
    tensors,
    told_windows,
)
from amplint.domains.parameter_owners import grouped, missed, models_of, sole_owner, whole
from amplint.flow import program as ir
from amplint.machine import attributes, builtins, step_methods, unknown_calls, unseen
from amplint.machine.batches import HANDS_OUT
from amplint.protocol.events import ELEMENTS, Kind
from amplint.protocol.precision import MISSES_FLOAT16, Precision
from amplint.protocol.ranks import Wrapper
from amplint.state import known_numbers, records, roles
from amplint.state.contexts import Averaged, Partial, Region, Stack
from amplint.state.counting import TOLD, tags_of
from amplint.state.counts import Count, Quotient
from amplint.state.records import Latest, as_dict
from amplint.state.run import Run
from amplint.state.values import (
    Bound,
    Class,
    Function,
    Gathered,
    Gradient,
    Incomplete,
    Instance,
    Keywords,
    Loss,
    Method,
    Optimizer,
    Origin,
    Parameters,
    Public,
    Scaler,
    Symbol,
    Value,
    text_of,
)

_EVENTS = {name: kind for dialect in DIALECTS for name, kind in dialect.calls.items()}
_TRANSPARENT = frozenset(chain.from_iterable(dialect.transparent for dialect in DIALECTS))
_PLAIN = tuple(chain.from_iterable(dialect.plain for dialect in DIALECTS))
_SAFE = (
    "torch.cuda.",
    "torch.distributed.",
    "os.",
    "sys.",
    "torch.device",
    "torch.backends.",
    "torch.version",
    "torch.utils.data",
)


def call(run: Run, name: str, args: list[Value], keywords: Keywords, at: ir.Span, member: bool = True) -> Value:
    """The value of calling a public name; `member`: an import binds not it, but what it is a member of."""
    if name in AVERAGES:
        return Averaged(AVERAGES[name])
    role = role_of(name)
    if role is not None:
        return _made(run, role, name, args, keywords, at)
    if name in _EVENTS:
        return _event(run, name, args, keywords, at)
    if name in reductions.NAMES:
        return unknown_calls.loss_of(run, reductions.made(run, name, args, keywords), [*args, *keywords.values()], at)
    if name in _TRANSPARENT:
        return args[0] if args else next(iter(keywords.values()), Symbol(f"{name}()"))
    if ranks.wraps(name):
        return ranks.wrap(run, name, args, keywords)
    if precision.is_autocast(name):
        return precision.autocast(run, name, args, keywords)
    if name in norms.FUNCTIONS and args:
        norms.of_gradients(run, args[0], at)
    if args and isinstance(args[0], Gradient) and ranks.collects(Public(name)):
        step_methods.reduce_gradient(run, args[0], at)
    in_place = name.startswith("torch.") and name.endswith("_")
    if in_place and args and (gradient := norms.one_of(args[0])) is not None:
        return step_methods.of_gradient(run, gradient, name.rpartition(".")[2].removeprefix("_foreach_"), args[1:], at)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(run, args, keywords, at)
    return _unknown(run, name, args, keywords, at, member)


_MOCKS = ("unittest.mock.", "mock.")
"""What stands in for anything in a test; what it does is the test's affair."""


def _unknown(run: Run, name: str, args: list[Value], keywords: Keywords, at: ir.Span, member: bool) -> Value:
    governed = name.partition(".")[0] in GOVERNS or name.startswith(_MOCKS)
    if not governed:
        if name.startswith("torch."):
            return _tensor(name, args, keywords)
        if name.rpartition(".")[2] in CLIPS and args and not _holds_a_part(run, [*args, *keywords.values()]):
            return _clipped_elsewhere(run, args, keywords, at)
        quiet = (run.path, name) in run.program.quiet
        tags = frozenset() if member else frozenset({unseen.ITSELF})
        return unknown_calls.call(run, Symbol(name.lstrip("."), tags=tags), args, keywords, at, quiet)
    inner = ", ".join(text_of(value) for value in (*args, *keywords.values()))[:60]
    return Symbol(f"{name}({inner})", Origin.RUN, governed=True, present=gives_an_object(name))


def _holds_a_part(run: Run, values: list[Value]) -> bool:
    """Whether a scaler or an optimizer is among some values: whoever is handed one may do more than its name says."""
    played = [roles.role_of(run, value) for value in values if isinstance(value, Symbol)]
    return any(isinstance(value, (Scaler, Optimizer)) for value in values) or not _HELD.isdisjoint(played)


_HELD = frozenset({"scaler", "optimizer"})


def _clipped_elsewhere(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """A function of another module that is called like torch's clip: it clips what it is handed, in its own way, or
    only measures it where it is handed no limit."""
    models = models_of(args[0])
    optimizer = sole_owner(run, next(iter(models))) if len(models) == 1 else grouped(run, args[0])
    if any(value is None for value in (*args[1:2], *keywords.values())):
        norms.measured(run, at, optimizer)
    else:
        run.emit(Kind.CLIP, at, optimizer, detail=clip_limits.told_elsewhere(run, [*args[1:], *keywords.values()], at))
    return Symbol("norm", Origin.DATA)


def _tensor(name: str, args: list[Value], keywords: Keywords) -> Symbol:
    """A torch function: unknown, computed from data unless it asks the machine."""
    inner = ", ".join(text_of(value) for value in (*args, *keywords.values()))[:60]
    origin = Origin.RUN if name.startswith(_SAFE) else Origin.DATA
    own = Precision.OFF if name.startswith(_PLAIN) else Precision.UNKNOWN
    through = penalties.without_length(name.rpartition(".")[2], provenance.of([*args, *keywords.values()]))
    made = Symbol(f"{name}({inner})", origin, ran=own, reach=through)
    return tensors.computed(made, name.rpartition(".")[2], [*args, *keywords.values()])


def _made(run: Run, role: Role, name: str, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    short = name.rpartition(".")[2]
    if role is Role.OPTIMIZER:
        made = _optimizer(run, short, args, keywords, at)
        made.of_torch = name.startswith("torch.optim.")
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
    sharded = name.endswith("ShardedGradScaler")
    asked = keywords.get("enabled", Symbol("enabled") if isinstance(keywords, Incomplete) else True)
    made = Scaler(run.name("scaler"), asked, True, maker, sharded, of_cuda=_of_cuda(name, args, keywords))
    made.marks = {MISSES_FLOAT16: "yes"} if scaler_switches.misses_float16(asked) else {}
    if not run.in_library:  # a framework makes its own once
        run.emit(Kind.SCALER_CREATED, at, scaler=made)
    return made


def _of_cuda(name: str, args: list[Value], keywords: Keywords) -> bool:
    """Whether a scaler is one for CUDA, which is what they are for unless another device is named."""
    if not name.startswith("torch.amp."):
        return name.startswith("torch.cuda.")
    device = keywords.get("device", next((value for value in args if isinstance(value, str)), "cuda"))
    return isinstance(device, str) and device == "cuda"


_FUSED = frozenset({"FusedAdam", "DeepSpeedCPUAdam"})
"""They decay as AdamW does unless told not to: apex 0.1, `ops/adam` of deepspeed 0.19."""

_MODES = ("adam_w_mode", "adamw_mode")


def _optimizer(run: Run, short: str, args: list[Value], keywords: Keywords, at: ir.Span) -> Optimizer:
    handed = args[0] if args else keywords.get("params")
    consume(handed)
    half = Precision.FLOAT16 if (run.path, at) in run.program.half else Precision.UNKNOWN
    made = Optimizer(run.name("optimizer"), short, models_of(handed), precision=half, whole=whole(handed), made=at)
    made.fused = "fused" in keywords
    run.optimizers[made.key] = made
    mode = next((keywords[name] for name in _MODES if name in keywords), short in _FUSED)
    coupled = keywords.get("weight_decay", 0) != 0 and mode is not True
    slower = {"slower": "the rate, which is divided,"} if "divided" in _tags_of_rates(args, keywords) else {}
    detail = {"algorithm": short, "decays": "yes" if coupled else "no"} | slower
    run.emit(Kind.CREATE, at, made, reach=provenance.themselves(made.models), detail=detail)
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
    run.emit(_EVENTS[name], at, optimizer, detail=detail, wrapper=wrapper)
    for other in missed(run, models) if optimizer is not None else ():
        run.emit(Kind.MISSED_CLIP, at, other)
    return Symbol("norm", Origin.DATA)


def _mean(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    value = args[0] if args else None
    return value if isinstance(value, Loss) else tensors.mean_of(run, args)


def _sum(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    return _tensor("torch.sum", args, keywords) if tensors.partly(args[1:], keywords) else tensors.sum_of(run, args)


def _backward(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    handed = args[0] if args else keywords.get("tensors")
    for value in handed if isinstance(handed, (list, tuple)) else [handed]:
        step_methods.back_propagate(run, value if isinstance(value, Loss) else Loss(None), at)
    return Symbol("None")


def _partial(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    if args and (
        isinstance(args[0], (Bound, Class, Function, Method, Public)) or roles.of_a_part(run, args[0]) is not None
    ):
        return Partial(args[0], tuple(args[1:]), tuple(keywords.items()), not isinstance(keywords, Incomplete))
    knows = frozenset({TOLD} if told_windows.speaks_of_window(run, [*args[1:], *keywords.values()]) else ())
    return args[0] if args and not keywords and len(args) == 1 else Symbol("partial(...)", tags=knows)


def _spawn(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`spawn(f, args=(a, b))`: a call `f(rank, a, b)` in every process, of which this is one."""
    given = args[1] if len(args) > 1 else keywords.get("args", ())
    if args and isinstance(given, tuple):
        run.invoke(args[0], [Symbol("rank"), *given], {}, at)
    return Symbol("None")


def _defaults(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    run.defaults_changed = True
    return None


def _switched(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    run.region = Region(Precision.UNKNOWN)
    return None


def _replaced(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """A copy of an object with other values; of what is not seen, something new."""
    owner = args[0] if args else None
    if isinstance(owner, Instance):
        return attributes.replaced(run, owner, as_dict(keywords))
    return Symbol("replaced(...)", Origin.OPAQUE)


_SPECIAL: dict[str, Callable[[Run, list[Value], Keywords, ir.Span], Value]] = {
    "torch.mean": _mean,
    "torch.sum": _sum,
    "torch.autograd.backward": _backward,
    "torch.autograd.grad": penalties.gradients,
    "torch.set_autocast_dtype": _defaults,
    "torch.set_autocast_gpu_dtype": _defaults,
    "torch.set_autocast_cpu_dtype": _defaults,
    "torch.set_autocast_enabled": _switched,
    "functools.partial": _partial,
    "contextlib.ExitStack": lambda run, args, keywords, at: Stack(),
    "torch.multiprocessing.spawn": _spawn,
    "torch.multiprocessing.spawn.spawn": _spawn,
    **HANDS_OUT,
    **dict.fromkeys(
        ("torch.distributed.fsdp.MixedPrecision", "torch.distributed.fsdp.api.MixedPrecision"), precision.of_parameters
    ),
    "collections.deque": lambda run, args, keywords, at: _gathered(run, args, keywords),
    "collections.namedtuple": lambda run, args, keywords, at: records.named_tuple(args),
    **dict.fromkeys(("dataclasses.replace", "attr.evolve", "attrs.evolve", "copy.replace"), _replaced),
    "copy.deepcopy": lambda run, args, keywords, at: Symbol("copy()", Origin.OPAQUE),
    **dict.fromkeys(("numpy.mod", "numpy.remainder", "math.fmod", "operator.mod"), builtins.remainder),
    "math.ceil": lambda run, args, keywords, at: _rounded(math.ceil, args),
    "math.floor": lambda run, args, keywords, at: _rounded(math.floor, args),
}


def _gathered(run: Run, args: list[Value], keywords: Keywords) -> Value:
    """What a queue holds: what it is made of, where that is known."""
    longest = args[1] if len(args) > 1 else keywords.get("maxlen")
    held = args[0] if args else ()
    if not isinstance(held, (list, tuple)):
        return Symbol("deque(...)", Origin.OPAQUE)
    if longest is not None:
        return Latest(held, known_numbers.number(run, longest))
    return list(held) if args else Gathered()


def _rounded(to_whole: Callable[[Fraction], int], args: list[Value]) -> Value:
    """A whole number that counts what the quotient did; anything else as it is."""
    value = args[0] if args else Symbol("math.ceil()")
    return Count(to_whole(value), value.tags) if isinstance(value, Quotient) else value


def is_gradient(value: Value) -> bool:
    """Whether a value is a parameter's gradient."""
    return isinstance(value, Gradient)
