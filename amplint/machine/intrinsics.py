"""What the program of a library can say of a training step and Python cannot: functions that only it can call."""

from __future__ import annotations

from collections.abc import Callable

from amplint.dialects.vocabulary import within
from amplint.domains import loss_arithmetic, parameter_owners, ranks, schedule_meanings, scheduler_units
from amplint.flow import program as ir
from amplint.machine import gradient_values, places, step_methods
from amplint.protocol.events import Kind
from amplint.protocol.precision import Precision
from amplint.protocol.values import with_changes
from amplint.state import known_numbers, roles, truths
from amplint.state.run import Run
from amplint.state.values import (
    OPTIMIZER,
    Function,
    Gated,
    Gradient,
    Incomplete,
    Instance,
    Keywords,
    Loss,
    Method,
    Optimizer,
    Origin,
    Parameters,
    Scaler,
    Scheduler,
    Symbol,
    Value,
    text_of,
)


def _text(value: Value) -> str:
    """An argument of which the programs of libraries write the text out."""
    assert isinstance(value, str)
    return value


def _optimizer(run: Run, value: Value) -> Optimizer:
    """An argument that stands for an optimizer; nobody judges what is done with one of a class of the program's own."""
    known = roles.optimizer(run, value) or parameter_owners.inside(value)
    if known is not None:
        return known
    made = roles.play(run, Symbol(text_of(value), Origin.OPAQUE, governed=True), "optimizer")
    assert isinstance(made, Optimizer)
    return made


def _known(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`known(value)`: whether a value is a plain one of Python's."""
    return args[0] is None or isinstance(args[0], (bool, int, float, str))


def _last_batch(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`last_batch()`: whether this is the last batch of an epoch."""
    return run.last_batch


def _role(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`role(value)`: `"optimizer"`, `"scheduler"`, or `"other"`."""
    value = args[0]
    if isinstance(value, (Optimizer, Scheduler)):
        return "optimizer" if isinstance(value, Optimizer) else "scheduler"
    found = roles.role_of(run, value) if isinstance(value, Symbol) else None
    return found if found in ("optimizer", "scheduler") else "other"


def _played(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`played(value, role)`: the torch object that a value stands for."""
    return roles.play(run, args[0], _text(args[1]))


def _hold_reductions(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`hold_reductions(reduces)`: whether what is back-propagated next went through models in their `no_sync`."""
    run.ranks.all_held = (args[0].value if isinstance(args[0], Gated) else args[0]) is False
    return None


def _keep(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`keep(optimizer=f, scheduler=g)`: what the framework makes of the objects of a role."""
    run.keepers.update(keywords)
    return None


def _taken_over(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`taken_over(scheduler, made)`: what the user calls on an object of torch's is called on this one from now on."""
    if isinstance(args[0], (Optimizer, Scheduler)):
        run.objects["kept", text_of(args[0])] = args[1]
    return args[1]


def _handed(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`handed()`: from now on it is known which objects were handed to the framework."""
    run.handed = True
    return None


def _opaque(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`opaque()`: what the framework does here is not told; `opaque("who")`: it is left to another one."""
    run.emit(Kind.OPAQUE, at, detail={"left to": _text(args[0])} if args else {})
    return None


def _ask(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`ask(optimizer, window=n)`: a step is asked of the framework, which takes it on every n-th call.

    `ask(optimizer, again="what")`: something that the framework does by itself is done once more, or was done by
    another call: `ask(optimizer, again="what", by="which")`.
    """
    if keywords.get("window") != 1:
        said = {name: value if isinstance(value, str) else text_of(value) for name, value in keywords.items()}
        run.emit(Kind.ASKED, at, _optimizer(run, args[0]), detail=said)
    if keywords.get("window", 1) != 1:
        run.model.learn_no_tail()
    return None


def _unscale_all(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`unscale_all(scaler)`: the gradients of all optimizers are unscaled."""
    scaler = args[0]
    if isinstance(scaler, Scaler) and step_methods.enabled(run, scaler):
        half = [one for one in run.optimizers.values() if one.precision is Precision.FLOAT16]
        refused = half[0] if len(half) == len(run.optimizers) == 1 else None
        run.emit(Kind.UNSCALE, at, refused, scaler)
    return None


def _no_tail(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`no_tail()`: the framework takes care of the last window of an epoch."""
    run.model.learn_no_tail()
    return None


def _remark(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`remark(outside="...")`: what the next events say in their detail; `remark()`: nothing any more."""
    run.remarks = {name: value if isinstance(value, str) else text_of(value) for name, value in keywords.items()}
    return None


def _owes(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`owes(optimizer)`: the framework steps it when the program asks for it, and never by itself."""
    optimizer = _optimizer(run, args[0])
    if run.owes is None and optimizer.algorithm is None:
        run.emit(Kind.CREATE, at, optimizer)  # nobody has seen it made
    run.owes = run.owes is not False
    return None


def _open_scale(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`open_scale(1)`, `open_scale(-1)`: from here to there the gradients carry a scale that is taken out then."""
    if args[0] == 1:
        run.open_scales.append(_library(run))
    else:
        run.open_scales.pop()
    return None


def _library(run: Run) -> str:
    """The name of the library whose program runs."""
    return run.here.path if run.here is not None else ""


def _as_loss(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`as_loss(value)`: what is back-propagated, as a loss, with the window that its text says it is divided by."""
    value = args[0]
    return loss_arithmetic.unweighed(run, value) if isinstance(value, Symbol) else value


def _gradients(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`gradients(loss, sources)`: what its backward has just made, as values, one for each source; nothing is left."""
    return gradient_values.made(run, args[0], args[1])


def _clipped(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`clipped(gradients)`: gradients that are values, clipped."""
    return gradient_values.after(run, args[0], Kind.CLIP, at)


def _unscaled(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`unscaled(gradients, scaler)`: gradients that are values, without the scale of a scaler."""
    return gradient_values.after(run, args[0], Kind.UNSCALE, at, args[1] if isinstance(args[1], Scaler) else None)


def _applied(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`applied(gradients, optimizer)`: gradients that are values are handed to an optimizer: `"unscaled"`, `"as they
    are"`, or `"not known"`. `window=n`: the optimizer divides by that; `begins=False`: it has others already."""
    share = known_numbers.number(run, keywords.get("window", 1)) or 1
    begins = truths.truth(run, keywords.get("begins", True))
    return gradient_values.applied(run, args[0], _optimizer(run, args[1]), share, begins, at)


def _handed_before(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`handed_before(gradients, optimizer, variables)`: whether an optimizer had the same gradients before, and for
    which variables: `"never"`, `"for the same"`, `"for others"`."""
    return gradient_values.before(run, args[0], _optimizer(run, args[1]), args[2])


def _first_of(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`first_of(values)`: the first of a list that is seen; anything else is itself."""
    return args[0][0] if isinstance(args[0], (list, tuple)) and args[0] else args[0]


def _fresh(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`fresh(name)`: a name that nothing else in this run has."""
    return run.name(_text(args[0]))


def _due(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`due(optimizer, function, backward="...")`: its steps count on a backward of the framework, where that is
    certain: the module calls that function nowhere."""
    called = any(args[1] in used for used in (*run.program.usage.values(), run.program.called))
    if isinstance(args[0], Optimizer) and not called:
        args[0].due = {"framework": _library(run), **{name: str(value) for name, value in keywords.items()}}
    return None


def _seen_made(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`seen_made(optimizer)`: whether the user's program is seen to make it from a class that is known."""
    return isinstance(args[0], Optimizer) and args[0].algorithm is not None


def _twin(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`twin(loss)`: the same loss, known apart from the one that it was made of."""
    return with_changes(args[0], trail=with_changes(args[0].trail)) if isinstance(args[0], Loss) else args[0]


def _unknown(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`unknown(text)`: something set before the loop of which only this text is known."""
    return Symbol(_text(args[0]))


def _optimizers(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`optimizers(text)`: an optimizer set before the loop, or several, of which only this text is known."""
    return Symbol(_text(args[0]), tags=OPTIMIZER)


def _perhaps(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`perhaps(text)`: a condition that is settled where nobody can see it: what is found must hold either way."""
    return Symbol(_text(args[0]), Origin.OPAQUE)


def _doubted(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`doubted(object, text)`: an object that is there under a condition which is settled where nobody can see it."""
    made = args[0]
    assert isinstance(made, Instance)
    made.doubted = _text(args[1])
    return made


def _entry(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`entry(config, key)`: what a dict that is known holds, or what was put into one that is not; None where it is not
    known, or left to the framework."""
    found = args[0].get(args[1]) if isinstance(args[0], dict) else places.held(run, args[0], args[1])
    lost = not isinstance(args[0], dict) and isinstance(found, Symbol) and found.origin is not Origin.RUN
    return None if lost or found == "auto" else found


def _whole(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`whole(config)`: whether all that a dict holds is known, or all the elements of a list."""
    return isinstance(args[0], (dict, list, tuple)) and not isinstance(args[0], Incomplete)


def _entry_of(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`entry_of(arguments, names)`: the first of some keyword arguments that was given; None if none was."""
    given, names = args
    assert isinstance(given, dict)
    assert isinstance(names, (list, tuple))
    return next((given[name] for name in names if name in given), None)


def _acts(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`acts(value)`: whether it is a function of the user's that does a part of the training step."""
    called = args[0].function if isinstance(args[0], Method) else args[0]
    node = called.node if isinstance(called, Function) else None
    if isinstance(node, ir.Lambda):
        return isinstance(node.body, ir.Call) and getattr(node.body.func, "name", "") in ("step", "zero_grad")
    return node is not None and (node.backward or node.steps or node.zeroes)


def _among(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`among(role, args, kwargs)`: the first argument that plays a role; None if none does."""
    role, given, named = args
    assert isinstance(given, (list, tuple))
    assert isinstance(named, dict)
    found = (one for one in (*given, *named.values()) if _role(run, [one], {}, at) == role)
    return next((_played(run, [one, role], {}, at) for one in found), None)


_IS_THERE = within("available installed importable find_spec")


def _decided(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`decided(word)`: whether the user's program has asked about something called so, and it is so in this run. That a
    package is there does not say that it is in use."""
    asked = [key for key, choice in run.decisions.items() if choice.value and not _IS_THERE(key)]
    found = [key for key in asked if _text(args[0]) in key.lower()]
    run.consulted += found
    return bool(found)


def _configured(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`configured(name)`: whether the project makes this setting of the framework's somewhere."""
    return any(args[0] in library.settings for library in run.program.libraries)


def _of_class(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`of_class(value, klass)`: whether a value is an object of a class of the library's own."""
    return isinstance(args[0], Instance) and args[0].klass is args[1]


def _reduced(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`reduced(tensor)`: a tensor after all ranks have put theirs together; a gradient is still one."""
    if isinstance(args[0], Gradient):
        step_methods.reduce_gradient(run, args[0], at)
        return args[0]
    return Symbol(f"reduced({text_of(args[0])})", Origin.DATA, governed=True)


def _parameters_of(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`parameters_of(optimizer)`: the parameters that an optimizer steps."""
    holder = args[0] if isinstance(args[0], Optimizer) else None
    models = holder.models if holder is not None else frozenset()
    return Parameters(next(iter(models)) if len(models) == 1 else None, holder=holder)


def _shared(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`shared(name, value)`: the first value that this name was given in the run."""
    return run.objects.setdefault(("shared", _text(args[0])), args[1])


def _called(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`called(window)`: whether the run began in a function that others call, who may have opened a window before, or
    is in a context that is not seen and may have opened one."""
    return (run.called or run.within > 0) and args[0] != 1


def _zero_all(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`zero_all()`: the gradients of all optimizers are zeroed."""
    run.emit(Kind.ZERO_GRAD, at)
    return None


def _zeroes(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`zeroes()`: whether the user's program zeroes gradients anywhere."""
    return any("zero_grad" in used for used in run.program.usage.values())


INTRINSICS: dict[str, Callable[[Run, list[Value], Keywords, ir.Span], Value]] = {
    "acts": _acts,
    "among": _among,
    "applied": _applied,
    "as_loss": _as_loss,
    "ask": _ask,
    "called": _called,
    "clipped": _clipped,
    "configured": _configured,
    "decided": _decided,
    "doubted": _doubted,
    "due": _due,
    "entry": _entry,
    "entry_of": _entry_of,
    "first_of": _first_of,
    "fresh": _fresh,
    "gradients": _gradients,
    "handed": _handed,
    "handed_before": _handed_before,
    "hold_reductions": _hold_reductions,
    "keep": _keep,
    "known": _known,
    "leaps": scheduler_units.leaps,
    "last_batch": _last_batch,
    "no_tail": _no_tail,
    "of_class": _of_class,
    "opaque": _opaque,
    "open_scale": _open_scale,
    "optimizers": _optimizers,
    "owes": _owes,
    "parameters_of": _parameters_of,
    "perhaps": _perhaps,
    "played": _played,
    "reduced": _reduced,
    "remark": _remark,
    "role": _role,
    "seen_made": _seen_made,
    "shared": _shared,
    "shared_out": schedule_meanings.shared_out,
    "taken_out": ranks.taken_out,
    "taken_over": _taken_over,
    "twin": _twin,
    "unknown": _unknown,
    "unscale_all": _unscale_all,
    "unscaled": _unscaled,
    "whole": _whole,
    "zero_all": _zero_all,
    "zeroes": _zeroes,
}
