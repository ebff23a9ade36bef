"""Under which autocast region the program is, and under which one a loss was made.

A region is entered by a `with` statement, an ExitStack, or a decorator. What a model returns remembers the region that
it ran in, and a loss the region of the forwards that it is computed from. A model that is not of the program may enter
a region by itself: outside of every region its precision is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING, TypeGuard

from amplint.dialects import DIALECTS
from amplint.dialects import vocabulary as words
from amplint.dialects.methods import RUNS_AS_BEFORE
from amplint.dialects.public import DTYPES, NEUTRAL, SPELLED, without_graph
from amplint.dialects.vocabulary import within
from amplint.domains import provenance
from amplint.flow import program as ir
from amplint.protocol.precision import LOWER, SCALES_ELSEWHERE, Precision, together
from amplint.state import truths
from amplint.state.contexts import Autocast, NoSync, Region, Stack
from amplint.state.scopes import Scope
from amplint.state.values import (
    Function,
    Incomplete,
    Instance,
    Loss,
    Method,
    Origin,
    Public,
    Symbol,
    Trail,
    Value,
    text_of,
)

if TYPE_CHECKING:
    from amplint.state.run import Run

_CONTEXTS = {name: device for dialect in DIALECTS for name, device in dialect.autocasts.items()}
_DEFAULTS = {"cuda": Precision.FLOAT16, "mps": Precision.FLOAT16, "cpu": Precision.BFLOAT16}
_ASIDE = ("no_sync", "no_grad", "timer", "profil")
_OF_CUDA = tuple(f"{name}()" for dialect in DIALECTS for name, device in dialect.devices.items() if device == "cuda")
_REGIONS = within(words.REGION)
_CASTS = within(words.CASTING)


def is_neutral(text: str) -> bool:
    """Whether a context is known to leave the step alone: torch's own, `no_sync`, a timer, a profiler, a region."""
    return _leaves_alone(text) or _REGIONS(text)


def _leaves_alone(text: str) -> bool:
    first = text.partition("(")[0].partition(".")[0].partition("[")[0]
    return first in NEUTRAL or any(one in text for one in _ASIDE)


def is_autocast(name: str) -> bool:
    """Whether a public name is one of the autocast classes."""
    return name in _CONTEXTS


def autocast(run: Run, name: str, args: list[Value], keywords: dict[str, Value]) -> Autocast:
    """The context that a call of an autocast class makes."""
    device: Value = _CONTEXTS[name]
    names = ("enabled", "dtype", "cache_enabled") if device else ("device_type", "dtype", "enabled", "cache_enabled")
    given = {**dict(zip(names, args, strict=False)), **keywords}
    device = device or given.get("device_type")
    open_ = isinstance(keywords, Incomplete)
    dtype = given.get("dtype", Symbol("dtype") if open_ else None)
    enabled = truths.as_setting(run, given.get("enabled", Symbol("enabled") if open_ else True))
    return Autocast(_kind(device), dtype, enabled, device)


def _kind(device: Value) -> str | None:
    return device.partition(":")[0] if isinstance(device, str) else None


def of_parameters(run: Run, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> Value:
    """`MixedPrecision(param_dtype=torch.float16)`: the precision in which a sharded model runs (torch 2.13,
    `distributed/fsdp/api.py`)."""
    dtype = args[0] if args else keywords.get("param_dtype")
    return Symbol(f"MixedPrecision({text_of(dtype)})", ran=dtype_of(dtype))


def dtype_of(value: Value) -> Precision:
    """The precision that a dtype names; not known unless it is one of torch's."""
    return DTYPES.get(value.name, Precision.UNKNOWN) if isinstance(value, Public) else Precision.UNKNOWN


def is_dtype(value: Value) -> TypeGuard[Public]:
    """Whether a value is a dtype of torch's."""
    return dtype_of(value) is not Precision.UNKNOWN


def written(value: Value) -> str:
    """What `str` makes of one of torch's dtypes, empty for anything else."""
    name = value.name if is_dtype(value) else ""
    return SPELLED.get(name, name)


def _region(run: Run, context: Autocast) -> Region:
    """The region that a context makes when it is entered."""
    if not truths.truth(run, context.enabled) or (context.device == "cuda" and without_cuda(run)):
        return Region(Precision.OFF, off=True)
    dtype = truths.resolve(run, context.dtype)
    if dtype is not None:
        found = dtype_of(dtype)
        lowered = found if found in LOWER else Precision.UNKNOWN if found is Precision.OFF else Precision.LOWERED
        return Region(lowered, context.device)
    default = Precision.LOWERED if run.defaults_changed else _DEFAULTS.get(_device(run, context), Precision.LOWERED)
    return Region(default, context.device)


def _device(run: Run, context: Autocast) -> str:
    """The kind of device that a context without a dtype is for: CUDA in some run, where that is left to a setting."""
    asked = context.asked
    if context.device is None and isinstance(asked, Symbol) and run.equals(asked.text, "'cuda'", asked.origin):
        return "cuda"
    return context.device or ""


def without_cuda(run: Run) -> bool:
    """Whether a run is one on a machine without CUDA: there autocast warns, and does nothing, and so does a scaler for
    CUDA (torch 2.13, `amp/autocast_mode.py`, `GradScaler.__init__` in `amp/grad_scaler.py`). It is so from the start,
    wherever the program asks for the first time."""
    asked = (name for name in _OF_CUDA if name in run.decisions or not run.forced.get(name, True))
    return any(not run.decide(name, Origin.RUN) for name in asked)


def enter(run: Run, context: Value) -> None:
    """Changes the region as entering a context does; what is not known may have made one."""
    if isinstance(context, Autocast):
        run.region = _region(run, context)
        run.entered = run.entered or run.region.precision is not Precision.OFF
        return
    if isinstance(context, (NoSync, Stack)):
        return
    text = text_of(context)
    harmless = isinstance(context, Symbol) and not context.governed and _leaves_alone(text)
    if context is None or harmless:
        return
    if run.region.precision is Precision.OFF or _CASTS(text):
        run.region = Region(Precision.UNKNOWN)


@contextmanager
def kept(run: Run) -> Iterator[None]:
    """Whatever region, `no_grad`, or `no_sync` of a model, is entered inside is left at the end."""
    before, held, without = run.region, run.ranks.held, run.without_graph
    try:
        yield
    finally:
        run.region, run.ranks.held, run.without_graph = before, held, without


def decorate(run: Run, function: Function) -> None:
    """Enters the regions that the decorators of a function make, and its `no_grad`."""
    for decorator in getattr(function.node, "decorators", ()):
        value = run.evaluate(function.scope, decorator)
        if isinstance(value, Autocast):
            enter(run, value)
        run.without_graph += is_without_graph(value)


def is_without_graph(context: Value) -> bool:
    """Whether a context lets nothing be remembered for a backward."""
    return isinstance(context, (Public, Symbol)) and without_graph(text_of(context))


def of_forward(run: Run, model: Value) -> Precision:
    """Under which precision a model runs that is called now."""
    inside = _of_instance(run, model) if isinstance(model, Instance) else getattr(model, "ran", Precision.UNKNOWN)
    others = run.program.casts or run.program.libraries  # who may enter a region for the model
    inside = Precision.UNKNOWN if inside is Precision.OFF and others else inside
    if run.region.off and inside is Precision.UNKNOWN and not others:
        return Precision.OFF  # who switches a region around a model knows of no other one in it
    if inside in LOWER:
        return inside
    return run.region.precision if run.region.precision is not Precision.OFF else inside


def _of_instance(run: Run, model: Instance) -> Precision:
    """The regions that the methods of a class of the program enter; off if the program speaks of none."""
    forward = run.read(model, "forward")
    if not isinstance(forward, Method) or not isinstance(forward.function.node, ir.Function):
        return Precision.UNKNOWN
    found: Precision | None = None
    function = forward.function
    first = function.node.params[0].name if function.node.params else "self"
    scope = Scope({first: model}, function.scope, function=function, instance=model)
    with kept(run):
        for context in forward.function.node.casts:
            run.region = Region(Precision.OFF)
            enter(run, run.evaluate(scope, context))
            found = run.region.precision if found is None else together(found, run.region.precision)
    if found is not None:
        return found
    return Precision.OFF


def of_call(run: Run, function: Symbol) -> Precision:
    """Under which precision code ran that is not followed; of a model that is moved, what it runs in by itself."""
    if function.name in RUNS_AS_BEFORE:
        return function.ran
    return run.region.precision if run.region.precision in LOWER else Precision.UNKNOWN


def scales_elsewhere(run: Run, ran: Precision, scaled: bool | None, off: str = "") -> dict[str, str]:
    """The detail of a backward from float16 without a scale where the module has a scaler: whoever wrote it knows what
    it is for (a look for batches that do not fit into memory goes without), unless it is `off` by a wrong comparison.
    """
    if ran is not Precision.FLOAT16 or scaled is not False or off:
        return {}
    known = any("unscale_" in used or {"scale", "step"} <= used for used in run.program.usage.values())
    return {SCALES_ELSEWHERE: "yes"} if known else {}


def trail_of(run: Run, values: list[Value]) -> Trail:
    """The beginning of a loss that is computed from some values now."""
    return Trail(forward=of_loss(run, values), reach=provenance.of(values))


def of_operands(symbols: list[Symbol]) -> Precision:
    """Under which precision the forwards ran whose outputs are computed with, whatever else they are computed with; of
    none that is known to be one, code that is not followed ran, with what is set before the loop beside it."""
    found = [symbol.ran for symbol in symbols if symbol.forward]
    found = found or [symbol.ran for symbol in symbols if symbol.origin is not Origin.RUN]
    return reduce(together, found) if found else Precision.UNKNOWN


def of_loss(run: Run, values: list[Value]) -> Precision:
    """Under which precision the forwards ran that a loss is computed from now."""
    found: Precision | None = None
    for value in values:
        ran = value.ran if isinstance(value, Symbol) and value.forward else None
        ran = value.trail.forward if isinstance(value, Loss) else ran
        if ran is not None:
            found = ran if found is None else together(found, ran)
    if found is not None:
        return found
    return run.region.precision if run.region.precision is not Precision.OFF else Precision.UNKNOWN
