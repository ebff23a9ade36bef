"""What methods do that a framework calls from a loop of its own, on top of what that loop does by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from amplint.dialects import DIALECTS, LOOPS
from amplint.dialects import vocabulary as words
from amplint.dialects.dialect import Loop
from amplint.dialects.schedules import KIND, SLOW, Epochs, Schedule
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.derived_classes import derived_classes
from amplint.lower.drivers import driven_by_hand, replaced, switched_off
from amplint.lower.early_clips import clipped, clips
from amplint.lower.names import last, reads, walk
from amplint.lower.own_schedules import Makers, own_makers
from amplint.lower.own_updates import own_updates
from amplint.lower.scopes import Scope
from amplint.lower.trainer_settings import Settings, settings_of
from amplint.protocol.cadence import EPOCHS
from amplint.protocol.events import Site
from amplint.protocol.facts import IN_A_LOOP, Fact

_SCHEDULES = {name: schedule for dialect in DIALECTS for name, schedule in dialect.schedules.items()}
_STEPS = ("step", "batch", "iter")
_EPOCHS = frozenset(f"{many}{one}" for many in ("", "max_", "num_", "n_", "total_") for one in ("epoch", "epochs"))
_LOSS, _SCALED, _WINDOW = within(words.LOSS), within(words.SCALED), within(words.WINDOW)
_BACKWARDS = frozenset({"backward", "manual_backward"})


def overrides_of(path: str, body: Iterable[ir.Stmt], klass: ir.Class, scope: Scope) -> Iterator[Fact]:
    """The mistakes in the methods of a class that a framework's own loop calls."""
    loop = LOOPS.get(scope.qualified(klass.bases[0]) or "") if len(klass.bases) == 1 else None
    methods = {node.name: node for node in klass.body if isinstance(node, ir.Function)}
    if loop is None or replaced([klass], loop.own):
        return
    every = [part for statement in body for part in walk(statement)]
    if (loop.off and switched_off(every, loop.off)) or driven_by_hand(every, loop.micro_step):
        return  # the loop is the user's, sometimes at least
    told = [*_in_micro_steps(path, loop, methods), *_clipped(path, loop, methods, settings_of(every, scope))]
    if loop.configures in methods:
        told += _by(loop, _configured(path, methods[loop.configures], scope, own_makers(path, body)))
    if told and not _taken_over(loop, derived_classes(path, every, klass)):
        yield from told


def _taken_over(loop: Loop, derived: Iterable[ir.Class]) -> bool:
    """Whether a class that derives from one has a loop of its own."""
    classes = tuple(derived)
    nodes = (part for one in classes for part in walk(one))
    return replaced(classes, loop.own) or (bool(loop.off) and switched_off(nodes, loop.off))


def _in_micro_steps(path: str, loop: Loop, methods: Mapping[str, ir.Function]) -> Iterator[Fact]:
    """The mistakes in what a loop calls for each micro-batch."""
    for name in loop.micro_step & methods.keys():
        found = _micro_step(path, loop, methods[name])
        yield from _by(loop, found) if name in loop.returns else found


def _clipped(path: str, loop: Loop, methods: Mapping[str, ir.Function], said: Settings) -> Iterator[Fact]:
    """The clips in what has a loop's gradients made: too early for those of the whole window, or before its step takes
    the loss scale out."""
    for name in loop.micro_step & methods.keys() - loop.returns:
        nodes = [part for part in walk(methods[name]) if isinstance(part, ir.Node)]
        ready = own_updates(nodes, lambda owner: _kept(loop, owner) is not None)
        found = (one for one in clipped(methods[name], said, loop.clip) if id(one[0]) not in ready)
        yield from _by(loop, (_fact(path, node, mistake, mild, clip=loop.clip) for node, mistake, mild in found))


def _by(loop: Loop, facts: Iterable[Fact]) -> Iterator[Fact]:
    """Facts about methods that leave the rest to a loop, with its name."""
    return (replace(fact, arguments={**fact.arguments, "through": loop.name}) for fact in facts)


def _named(node: object) -> str:
    return node.name if isinstance(node, (ir.Name, ir.Attr)) else ""


def _fact(path: str, node: ir.Node, mistake: str, mild: bool = False, **said: object) -> Fact:
    arguments: dict[int | str, object] = {name: value for name, value in said.items()}  # noqa: C416
    return Fact(mistake, Site(path, *node.at), arguments, IN_A_LOOP, mild=mild)


def _micro_step(path: str, loop: Loop, method: ir.Function) -> Iterator[Fact]:
    """A second division, a backward, a step or a clip in what is called for each micro-batch."""
    walked = (part for statement in method.body for part in walk(statement))
    nodes = [part for part in walked if isinstance(part, ir.Node)]
    handed = _handed_back(nodes)
    made = {
        node.target.name: node.value
        for node in nodes
        if isinstance(node, ir.Assign) and isinstance(node.target, ir.Name)
    }
    ready = own_updates(nodes, lambda owner: _kept(loop, made.get(_named(owner), owner)) is not None)
    if method.name in loop.returns and not any(_called(node) in _BACKWARDS for node in nodes):
        yield from (_fact(path, node, "clipped") for node in nodes if clips(node) and id(node) not in ready)
    for node in nodes:
        if loop.window and _divides(node, loop.window, handed):
            yield _fact(path, node, "divided", window=loop.window)
        elif isinstance(node, ir.Call) and isinstance(node.func, ir.Attr):
            owner = node.func.owner
            if _is_backward(node) and id(node) not in ready:
                mild, by_hand = method.name not in loop.returns, _divided_by_hand(nodes, _named(owner))
                yield _fact(path, node, "backward", mild=mild, instead=loop.backward, divided=by_hand)
            elif node.func.name == "step" and (what := _kept(loop, made.get(_named(owner), owner))):
                yield _fact(path, node, "step", what=what, by=loop.name)


def _is_backward(node: ir.Call) -> bool:
    """Whether a call back-propagates a loss to all that it was made of; with `inputs=` it reaches these alone."""
    if not isinstance(node.func, ir.Attr) or node.func.name != "backward" or node.args:
        return False
    return _is_loss(node.func.owner) and "inputs" not in dict(node.keywords)


def _called(node: object) -> str:
    return last(node.func) if isinstance(node, ir.Call) else ""


def _is_loss(node: ir.Expr) -> bool:
    name = last(node)
    return _LOSS(name) and not _SCALED(name)


def _kept(loop: Loop, node: ir.Expr) -> str | None:
    """What of the framework's own a step is called on: one of its accessors, or an attribute of the object itself."""
    if isinstance(node, ir.Call):
        node = node.func
    own = isinstance(node, ir.Attr) and isinstance(node.owner, ir.Name) and node.owner.name == "self"
    return loop.keeps.get(_named(node)) if own else None


def _handed_back(nodes: list[ir.Node]) -> set[str]:
    """The names of what a method returns as it is, in a tuple, or in a dictionary."""
    returned = [node.value for node in nodes if isinstance(node, ir.Return) and node.value is not None]
    return {name for value in returned for name in map(_named, _parts(value)) if name}


def _parts(value: ir.Expr) -> list[ir.Expr]:
    if isinstance(value, ir.Display):
        return list(value.items)
    if isinstance(value, ir.Mapping):
        return [inner for _, inner in value.items]
    return [value.yes, value.no] if isinstance(value, ir.Choice) else [value]


def _divides(node: object, window: str, handed: set[str]) -> bool:
    """Whether a statement divides what is returned by the window."""
    if isinstance(node, ir.Augment):
        return node.op.rstrip("=") == "/" and _named(node.target) in handed and last(node.value) == window
    if isinstance(node, ir.Assign) and _named(node.target) in handed:
        return _quotient(node.value, window)
    if isinstance(node, ir.Return) and node.value is not None:
        return any(_quotient(part, window) for part in _parts(node.value))
    return False


def _divided_by_hand(nodes: Iterable[ir.Node], loss: str) -> bool:
    """Whether a method divides a loss by something that is called like a window."""
    whole = (node for node in nodes if isinstance(node, (ir.Assign, ir.Augment)) and _named(node.target) == loss)
    for node in whole:
        value = node.value.right if isinstance(node.value, ir.Binary) and node.value.op == "/" else node.value
        divides = node.op.rstrip("=") == "/" if isinstance(node, ir.Augment) else value is not node.value
        if divides and _WINDOW(last(value)):
            return True
    return False


def _quotient(value: ir.Expr, window: str) -> bool:
    return isinstance(value, ir.Binary) and value.op == "/" and last(value.right) == window


def _configured(path: str, method: ir.Function, outer: Scope, own: Makers) -> Iterator[Fact]:
    """Schedules that are handed over for another unit than the one that they count. `own`: what else makes some."""
    scope = outer.inside(method.body, (param.name for param in method.params))
    for node in (part for statement in method.body for part in walk(statement)):
        if isinstance(node, ir.Return) and node.value is not None:
            yield from _handed_over(path, scope.value(node.value), scope, own)


def _handed_over(path: str, value: ir.Expr, scope: Scope, own: Makers) -> Iterator[Fact]:
    parts: list[ir.Expr] = []
    if isinstance(value, ir.Display) and len(value.items) == 2:
        second = scope.value(value.items[1])
        parts = list(second.items) if isinstance(second, ir.Display) else [second]
    elif isinstance(value, ir.Mapping):
        parts = [inner for key, inner in value.items if getattr(key, "value", "") == "lr_scheduler"]
    for part in parts:
        yield from _one(path, scope.value(part), scope, own)


def _one(path: str, value: ir.Expr, scope: Scope, own: Makers) -> Iterator[Fact]:
    """A schedule by itself, or in the dictionary that says how often it is stepped: once per epoch if it does not."""
    interval: object = "epoch"
    each = True
    if isinstance(value, ir.Mapping):
        if not all(isinstance(key, ir.Const) for key, _ in value.items):
            return
        said = {getattr(key, "value", ""): inner for key, inner in value.items}
        interval = getattr(said["interval"], "value", None) if "interval" in said else "epoch"
        each = getattr(said["frequency"], "value", None) == 1 if "frequency" in said else True
        value = scope.value(said["scheduler"]) if "scheduler" in said else value
    if not isinstance(value, ir.Call) or value.starred:
        return
    schedule = _SCHEDULES.get(scope.qualified(value.func) or "", own.get(last(value.func)))
    if schedule is None:
        return
    if interval == "step" and each and (meant := _meant(value, schedule, scope)):
        yield _fact(path, value, "epochs per step", argument=meant, schedule=last(value.func))
    for name, counts, named in _horizons(value, schedule, scope):
        if interval == "epoch" and (counts == "batches" or (counts == "steps" and schedule.batches)):
            yield _fact(path, value, "per epoch", mild=named, argument=name)
        elif interval == "step" and counts == "epochs" and each:
            yield _fact(path, value, "per step", argument=name)


def _meant(call: ir.Call, schedule: Schedule, scope: Scope) -> str:
    """The argument whose numbers say that a schedule is meant for one step per epoch; empty if none does."""
    if schedule.epochs is None:
        return ""
    place = schedule.epochs.position
    given = dict(call.keywords).get(schedule.epochs.name, call.args[place] if place < len(call.args) else None)
    value = scope.value(given) if given is not None else None
    items = value.items if isinstance(value, ir.Display) else [value] if value is not None else []
    numbers = [item.value if isinstance(item, ir.Const) else None for item in items]
    factor = _factor(call, schedule.epochs)
    meant = schedule.meant(numbers) == EPOCHS and not (factor is not None and SLOW < factor < 1)
    return schedule.epochs.name if meant else ""


def _factor(call: ir.Call, numbers: Epochs) -> float | None:
    """The factor of each decay, as far as it is written."""
    place = numbers.factor if numbers.factor is not None else len(call.args)
    given = dict(call.keywords).get("gamma", call.args[place] if place < len(call.args) else None)
    return given.value if isinstance(given, ir.Const) and isinstance(given.value, (int, float)) else None


_COUNTED = "estimated_stepping_batches"
"""The updates of a whole run: `lightning/pytorch/trainer/trainer.py` of 2.6.6."""


def _is_named(value: ir.Expr) -> bool:
    """Whether nothing but the name of a setting says what a horizon counts."""
    return isinstance(value, (ir.Name, ir.Attr)) and value.name != _COUNTED


def _horizons(call: ir.Call, schedule: Schedule, scope: Scope) -> Iterator[tuple[str, str, bool]]:
    """What the first horizon that is given counts, as far as the names in it leave no doubt; whether it is one name.

    `batches`: it was computed from the updates of the whole run, whatever the schedule is meant for.
    """
    given = dict(call.keywords)
    named = given.get(KIND, call.args[0] if call.args else None)
    kind = getattr(scope.value(named), "value", None) if named is not None else None
    for name, position in schedule.of_kind(kind).horizons.items():
        value = given.get(name, call.args[position] if position < len(call.args) else None)
        if value is None:
            continue
        value = scope.value(value)
        if isinstance(value, ir.Const):
            return
        names = {*(_named(part) for part in walk(value)), *reads(value)} - {"", "self"}
        if name == "steps_per_epoch" or any(map(_counts_steps, names)):
            yield name, "batches" if _COUNTED in names else "steps", name != "steps_per_epoch" and _is_named(value)
        elif last(value).lower() in _EPOCHS:
            yield name, "epochs", _is_named(value)
        return


def _counts_steps(name: str) -> bool:
    """Whether a name is one of what counts steps or batches, or a length."""
    lowered = name.lower()
    return lowered.endswith("len") or any(one in lowered for one in _STEPS)
