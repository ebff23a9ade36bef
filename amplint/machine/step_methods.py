"""Methods of optimizers, scalers, schedulers, losses, gradients and containers."""

from __future__ import annotations

from fractions import Fraction

from amplint.dialects import vocabulary as words
from amplint.dialects.dialect import Role
from amplint.dialects.methods import CASTS, HANDS_OUT, HOOKS_OF_STEPS, KEEPS_NUMBERS, MOVES, SAME_LOSS, SAYS
from amplint.dialects.public import QUIET, event_of, methods_of
from amplint.dialects.unseen import only_reads
from amplint.dialects.vocabulary import within
from amplint.domains import (
    averages,
    loss_arithmetic,
    loss_scales,
    norms,
    parameter_dtypes,
    parameter_owners,
    partial_zeroing,
    penalties,
    precision,
    provenance,
    ranks,
    retained_losses,
    scaler_switches,
    scheduler_units,
    shown_counts,
    tensors,
    told_windows,
)
from amplint.flow import program as ir
from amplint.machine import arithmetic, attributes, containers, hooks, libraries, told_of_losses
from amplint.protocol.cadence import EPOCHS
from amplint.protocol.checks import BY_HAND
from amplint.protocol.events import ELEMENTS, Kind
from amplint.protocol.precision import Precision
from amplint.protocol.values import with_changes
from amplint.state import known_numbers, records, roles, truths
from amplint.state.contexts import Averaged
from amplint.state.run import Run
from amplint.state.values import (
    Bound,
    Condition,
    Criterion,
    Function,
    Gradient,
    Instance,
    Loss,
    Method,
    Optimizer,
    Origin,
    Scaler,
    Scheduler,
    Stream,
    Symbol,
    Value,
    text_of,
)

OF_ROLE = {
    "optimizer": methods_of(Role.OPTIMIZER) | HOOKS_OF_STEPS,
    "scaler": methods_of(Role.SCALER) | {"is_enabled", "get_scale"},
    "scheduler": methods_of(Role.SCHEDULER),
}
_CLIP_FACTOR = within(words.LIMITING)


def call(run: Run, func: Bound, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> Value:
    """A call of `owner.method(...)`."""
    return call_named(run, func.owner, func.name, args, keywords, at)


def call_named(run: Run, owner: Value, name: str, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> Value:
    """A call of a method by its name."""
    if name in hooks.ALL:
        hooks.registered(run, name, args)
    if isinstance(owner, Instance) and name in CASTS:
        parameter_dtypes.cast_object(run, owner, name, [*args, *keywords.values()])
    if isinstance(owner, Optimizer) and libraries.may_be_kept(run, owner):
        run.emit(Kind.OPAQUE, at)
        return Symbol(f"{owner.key}.{name}()", Origin.OPAQUE)
    if isinstance(owner, (Optimizer, Scaler)) and name not in QUIET and roles.is_remade(run, owner):
        run.emit(Kind.OPAQUE, at)
        return Symbol(f"{text_of(owner)}.{name}()", Origin.DATA, governed=True)
    if isinstance(owner, (Optimizer, Scheduler)) and name not in ("__init__", attributes.OVERRIDDEN):
        owner = libraries.kept(run, owner, "optimizer" if isinstance(owner, Optimizer) else "scheduler")
    if isinstance(owner, Criterion) and name in MOVES:
        return owner
    if isinstance(owner, Instance):
        return _instance(run, owner, name, args, keywords, at)
    if isinstance(owner, Optimizer):
        return _optimizer(run, owner, name, args, keywords, at)
    if isinstance(owner, Scaler):
        return _scaler(run, owner, name, args, keywords, at)
    if isinstance(owner, Scheduler):
        return _scheduler(run, owner, name, args, keywords, at)
    if isinstance(owner, Loss):
        return _loss(run, owner, name, args, keywords, at)
    if isinstance(owner, Gradient):
        return of_gradient(run, owner, name, args, at)
    if name == "backward":
        run.emit(Kind.OPAQUE, at)  # of a list, or of a number: what it holds is not what the program has
    if isinstance(owner, (list, dict)):
        return containers.call(run, owner, name, args, keywords)
    if isinstance(owner, Stream) and name == "update":
        shown_counts.advance(run, owner, args)
    if isinstance(owner, Averaged) and name == owner.method:
        return averages.update(run, args, keywords, at)
    origin = truths.origin_of(owner.parts) if isinstance(owner, Condition) else Origin.OPAQUE  # `(y > 0).float()`
    return Symbol(f"{text_of(owner)}.{name}(...)", origin)


def _optimizer(
    run: Run, owner: Optimizer, name: str, args: list[Value], keywords: dict[str, Value], at: ir.Span
) -> Value:
    kind = event_of(Role.OPTIMIZER, name)
    if kind is Kind.ZERO_GRAD:
        for one in (owner, *parameter_owners.zeroed_with(run, owner)):
            run.emit(Kind.ZERO_GRAD, at, one, detail=_discards(run))
    elif kind is Kind.STEP:
        closure = args[0] if args else keywords.get("closure")
        if any(isinstance(value, (str, Scaler)) for value in (*args, *keywords.values())):
            run.emit(Kind.OPAQUE, at)  # no step of torch's: one of several optimizers is named, or a scaler handed over
            return Symbol(f"{owner.key}.step()", Origin.OPAQUE)
        if isinstance(closure, (Function, Method)):
            run.invoke(closure, [], {}, at)
        hooks.before_step(run, owner, at)
        told_windows.may_divide(run, owner, [*args, *keywords.values()], at)
        run.emit(Kind.STEP, at, owner, detail=_looks(run))
        hooks.after_step(run, owner, at)
    elif name in HOOKS_OF_STEPS:
        hooks.of_step(owner, name)
    elif name not in QUIET and not only_reads(name):
        run.emit(Kind.OPAQUE, at, owner)
    owner.whole = owner.whole and name != "add_param_group"
    return Symbol(f"{owner.key}.{name}()", Origin.OPAQUE)


def _looks(run: Run) -> dict[str, str]:
    """Whether nothing has looked at what was back-propagated since then, so that no step is left out."""
    return {"unchecked": "yes"} if not (run.asked or checks(run)) else {}


def _discards(run: Run) -> dict[str, str]:
    """Gradients that are erased under a window's test outside the loop over the batches are thrown away on purpose."""
    return {"discards": "yes"} if run.gates and not run.in_batches else {}


def enabled(run: Run, scaler: Scaler) -> bool:
    """Whether a scaler scales in this run."""
    return truths.truth(run, scaler.enabled) and not (scaler.of_cuda and precision.without_cuda(run))


def _instance(
    run: Run, owner: Instance, name: str, args: list[Value], keywords: dict[str, Value], at: ir.Span
) -> Value:
    method = attributes.read(run, owner, name)
    if isinstance(method, Bound) and name in HANDS_OUT:
        return parameter_owners.of_object(owner)
    if isinstance(method, Bound):
        return attributes.replaced(run, owner, records.changes(name, keywords)) if name in records.REPLACE else owner
    result = run.invoke(method, args, keywords, at)
    return result if result is not None else Symbol("None")


def _scaler(run: Run, owner: Scaler, name: str, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> Value:
    kind = event_of(Role.SCALER, name)
    if name in ("get_scale", "_scale"):
        return loss_scales.of(owner)
    if name == "is_enabled":
        return owner.enabled if not owner.of_cuda or enabled(run, owner) else False
    if kind is Kind.SCALE:
        return _scale(run, owner, args[0] if args else keywords.get("outputs"), at)
    if name == "load_state_dict":
        owner.maker = ()  # its state does not begin where it was made
    handed = args[0] if args else keywords.get("optimizer")
    optimizer = roles.optimizer(run, handed) if isinstance(handed, Symbol) else parameter_owners.inside(handed)
    if optimizer is None and kind in (Kind.SCALER_STEP, Kind.UNSCALE):
        run.emit(Kind.OPAQUE, at)  # nobody knows whose gradients
    elif not enabled(run, owner):
        run.idle.add(run.site(at))
        if kind is Kind.SCALER_STEP:
            hooks.before_step(run, optimizer, at)
            run.emit(Kind.STEP, at, optimizer)
            hooks.after_step(run, optimizer, at)
    elif kind is Kind.UNSCALE:
        run.emit(Kind.UNSCALE, at, optimizer, owner)
    elif kind is Kind.SCALER_STEP:
        hooks.before_step(run, optimizer, at)
        told_windows.may_divide(run, optimizer, [], at)
        run.emit(Kind.SCALER_STEP, at, optimizer, owner, detail=_stepping(owner, args, keywords))
        hooks.after_step(run, optimizer, at)
    elif kind is Kind.UPDATE:
        if (not args and not keywords) or "new_scale" in keywords or (owner.known and len(args) == 1):
            run.emit(Kind.UPDATE, at, None, owner, detail={BY_HAND: "yes"} if args or keywords else {})
    elif name not in QUIET:
        run.emit(Kind.OPAQUE, at)
    return Symbol(f"{owner.key}.{name}()", Origin.DATA)


def _stepping(scaler: Scaler, args: list[Value], keywords: dict[str, Value]) -> dict[str, str]:
    """Of torch's own scaler: whether it is handed a closure, and how; whether it knows of other ranks."""
    alone = {"may be skipped": "yes"} | ({"ranks": "alone"} if scaler.known and not scaler.sharded else {})
    if scaler.known and "closure" in keywords:
        return {"closure": "by keyword", **alone}
    handed = args[1] if scaler.known and len(args) > 1 else None
    return {"closure": "by position", **alone} if isinstance(handed, (Function, Method)) else alone


def _scale(run: Run, scaler: Scaler, value: Value, at: ir.Span) -> Value:
    if isinstance(value, (list, tuple)):
        return [_scale(run, scaler, item, at) for item in value]
    made = loss_scales.made_at(run, scaler, value, at)
    if isinstance(value, Symbol):
        value = loss_arithmetic.unweighed(run, value)
    if isinstance(value, Stream) or not isinstance(value, Loss):
        value = Loss(None)
    if not enabled(run, scaler):
        value.trail.off = scaler_switches.off_by(run, scaler.enabled)
        if value.trail.forward is Precision.FLOAT16 and not value.trail.off:
            value.trail.forward = Precision.LOWERED  # the user has a scaler, and has decided when it is needed
        return value
    if value.scaler is scaler and not value.factors:  # what was multiplied onto it may be the scale, divided out
        run.emit(Kind.RESCALE, at, None, scaler)
    value.trail.scaled = made
    return with_changes(value, scaler=scaler)


def _scheduler(
    run: Run, owner: Scheduler, name: str, args: list[Value], keywords: dict[str, Value], at: ir.Span
) -> Value:
    """`step()`; with an argument it sets an absolute position, or hands over a metric: that has no order to keep."""
    if name == "__init__":
        scheduler_units.begin(run, owner, owner.base, args, keywords)
    elif name == attributes.OVERRIDDEN:
        before, _ = len(run.events), _scheduler(run, owner, "step", args, keywords, at)
        run.events[before:] = [with_changes(one, site=run.stack[-1]) for one in run.events[before:]]
    elif event_of(Role.SCHEDULER, name) is Kind.SCHEDULER_STEP and not owner.begins:
        said = any(value is not None for value in (*args, *keywords.values()))
        kind = Kind.SCHEDULER_TOLD if said else Kind.SCHEDULER_STEP
        scheduler_units.prepared(run, owner)
        asked = {"asked": "yes"} if run.in_framework or run.passed[1] in run.doubts else {}
        sometimes = {"sometimes": "yes"} if run.sometimes else {}
        unread = {"unread": "yes"} if "unread" in owner.said else {}
        measured = not unread and shown_counts.of_the_batch(run, [*args, *keywords.values()])
        metric = {"meant": EPOCHS} if measured else {}
        later = kind is Kind.SCHEDULER_TOLD and not (run.in_batches or owner.said)
        outside = {"outside": "yes"} if later else {}
        detail = asked | sometimes | unread | metric | outside | scheduler_units.of_metric(owner, args, keywords)
        run.emit(kind, at, owner.optimizer, scheduler=owner, detail=detail)
        for part in owner.parts:
            _scheduler(run, part, name, args, keywords, at)
    return Symbol(f"{owner.key}.{name}()", Origin.OPAQUE)


def _loss(run: Run, owner: Loss, name: str, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> Value:
    if name == "backward":
        if not libraries.takes_back(run, owner.trail.reach, owner, at):
            back_propagate(run, loss_scales.went_back(run, owner, args, keywords), at)
        return Symbol("None")
    if name in ("div", "true_divide", "div_", "mul", "mul_") and args:
        op = "*" if name.startswith("mul") else "/"
        return arithmetic.binary(run, ir.Binary(at, op, ir.Const(at, 0), ir.Text(at, text_of(args[0]))), owner, args[0])
    if name == "scale":  # whoever has such a method: this is no plain loss any more
        return owner.times(None, "scale")
    if name in SAYS:
        return Symbol(f"loss.{name}()", Origin.DATA, tags=tensors.NUMBER_TAG)
    if name == "mean" and owner.raw:
        return with_changes(owner, weight=Fraction(1), raw=False)
    if name == "detach_":
        owner.trail.passed, owner.trail.born = False, (-1, 0)
    return owner if name in SAME_LOSS else with_changes(owner, weight=None)


def back_propagate(run: Run, loss: Loss, at: ir.Span) -> None:
    """The backward of a loss."""
    trail = loss.trail
    detail = retained_losses.added(run, loss)
    loss = retained_losses.summed(loss)
    trail.backed = True
    retained_losses.spent(run, trail, at)
    trail.scaled_used = trail.scaled_used or loss.scaler is not None
    run.loop_gate = None
    hooks.before_backward(run, at)
    scaled = loss.scaler is not None or trail.perhaps
    detail |= told_of_losses.told(run, loss, scaled)
    run.emit(
        Kind.BACKWARD,
        at,
        scaler=loss.scaler,
        weight=None if loss.factors or loss.summed or run.hooked else loss.share,
        scaled=scaled,
        factors=loss.factors,
        detail=detail,
        forward=trail.forward,
        reach=provenance.asked(run, penalties.told(run, trail.reach)),
        **ranks.backward(run, trail.reach, at),
    )
    hooks.after_backward(run, at)
    if loss.scaler is None and trail.scaled is not None and not trail.scaled_used:
        run.emit(Kind.DISCARD, trail.scaled)
    if loss.weight == 1 and not (loss.summed or loss.divisor) and trail.divided is not None:
        run.emit(Kind.LOSS_DIVIDED, trail.divided)


def zero_model(run: Run, model: str, at: ir.Span) -> None:
    """`model.zero_grad()`: every optimizer that may hold the model's parameters."""
    holding = [found for found in run.optimizers.values() if model in found.models]
    for optimizer in holding:
        run.emit(Kind.ZERO_GRAD, at, optimizer, detail=_discards(run))
    unseen = any(found.algorithm is None and not found.models for found in run.optimizers.values())
    if not holding or unseen or parameter_owners.may_share(run):
        run.emit(Kind.OPAQUE if provenance.spares(run, model) else Kind.ZERO_GRAD, at, detail=_discards(run))


def of_gradient(run: Run, owner: Gradient, name: str, args: list[Value], at: ir.Span) -> Value:
    """What a method of a gradient, or a function of torch that changes gradients in place, does and gives."""
    kind = event_of(Role.GRADIENT, name)
    if kind is Kind.NORM:
        norms.measured(run, at, parameter_owners.optimizer_of(run, owner.model))
    elif name in ("detach", "float", "clone", "data"):
        return owner if name == "detach" else with_changes(owner, copied=True)
    elif owner.copied:
        return Symbol("gradient", Origin.DATA)
    elif kind is Kind.DIVIDE and args:
        change_gradient(run, owner, "*" if name.startswith("mul") else "/", args[0], at)
    elif kind is Kind.ZERO_GRAD:
        zero_gradient(run, owner, at)
    elif kind is Kind.CLIP:
        run.emit(Kind.CLIP, at, parameter_owners.optimizer_of(run, owner.model), detail={ELEMENTS: "yes"})
    elif name.endswith("_") and not name.endswith("__") and name not in KEEPS_NUMBERS:
        run.emit(Kind.OPAQUE, at)
    return Symbol(f"grad.{name}()", Origin.DATA)


def zero_gradient(run: Run, owner: Gradient, at: ir.Span) -> None:
    """`p.grad = None` or `p.grad.zero_()`."""
    held = [found.models for found in run.optimizers.values()]
    if owner.model is not None and held and all(models and owner.model not in models for models in held):
        return  # a copy's gradients, which no optimizer steps
    if partial_zeroing.spares(run):
        return
    optimizer = owner.holder or parameter_owners.optimizer_of(run, owner.model)
    around = [Kind.OPAQUE] if partial_zeroing.spares_others(run, owner) else []
    for kind in (*around, Kind.ZERO_GRAD, *around):  # nobody knows how much of what the step is for was erased
        run.emit(kind, at, optimizer, detail=_discards(run))


def reduce_gradient(run: Run, owner: Gradient, at: ir.Span) -> None:
    """The program itself reduces gradients over the ranks."""
    if not owner.copied:
        run.emit(Kind.REDUCE, at, parameter_owners.optimizer_of(run, owner.model))


def change_gradient(run: Run, owner: Gradient, op: str, factor: Value, at: ir.Span) -> None:
    """Gradients multiplied or divided by hand: a division by the window, a loss scale taken out, or a clip."""
    optimizer = parameter_owners.optimizer_of(run, owner.model)
    text = text_of(factor)
    if op == "*" and _CLIP_FACTOR(text):
        run.emit(Kind.CLIP, at, optimizer)
        return
    value = known_numbers.number(run, factor)
    detail = {"unchecked": "yes"} if unchecked(run) else {}
    if value:
        weight = Fraction(value) if op == "*" else 1 / Fraction(value)
        run.emit(Kind.DIVIDE, at, optimizer, weight=weight, detail=detail)
        return
    inverse = text[4:] if text.startswith("1 / ") else None
    symbol = text if op == "/" else inverse
    run.emit(Kind.DIVIDE, at, optimizer, factors=frozenset({symbol} if symbol else ()), detail=detail)


_CHECKS = within(words.FINITE, words.OVERFLOWING)


def checks(run: Run) -> bool:
    """Whether something in the program looks for what is not finite."""
    return any(_CHECKS(name) for used in run.program.usage.values() for name in used)


def unchecked(run: Run) -> bool:
    """Whether nothing in the program looks for what is not finite, or decides by what it cannot know before."""
    return not checks(run) and all(decision.origin is Origin.RUN for decision in run.decisions.values())
