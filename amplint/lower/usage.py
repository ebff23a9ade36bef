"""What is done with each name anywhere in a module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from amplint.dialects import vocabulary as words
from amplint.dialects.averages import AVERAGES, UPDATES, is_average, updates_one
from amplint.dialects.averages import BY_HAND as AVERAGED_BY_HAND
from amplint.dialects.gradients import writes_gradients
from amplint.dialects.methods import HOOKS, SWITCHES_GRADIENTS
from amplint.dialects.public import CLIPS, COLLECTING, QUIET
from amplint.dialects.schedules import BY_HAND, UNREAD
from amplint.dialects.syntax import SCHEDULED
from amplint.dialects.unseen import hides, is_tool, only_reads, only_runs
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.driven import driven
from amplint.lower.held_optimizers import holding, optimizers
from amplint.lower.held_schedules import schedules
from amplint.lower.loose_methods import handed
from amplint.lower.names import binds, calls, last, walk
from amplint.lower.norms import measures
from amplint.lower.ranks import SWITCH, asked, wrapped, wrapping

_SCHEDULER, _OPTIMIZER, _SCALER = within(words.SCHEDULER, "lr"), within(words.OPTIMIZER), within(words.SCALER)
_MODEL, _OPTIONS = within(words.MODEL), within(words.OPTIONS)
_SCALING = frozenset({"scale", "unscale_"})
_AVERAGES = frozenset(name.rpartition(".")[2] for name in AVERAGES)
_STACKED = frozenset({"callback", "enter_context", "push"})
_ACTS = frozenset({"backward", "zero_grad", "unscale_", "enter_context", "replay"}) | CLIPS | HOOKS


@dataclass(frozen=True)
class Usage:
    """The methods called on each name, and the wrappers that it is asked for; and the names of functions that clip, of
    what is back-propagated, of scalers, of weight averages, of what wraps a model for several processes, of what it
    made, and of lists of gradients; the calls that drive a training; the names of what gradients are bound to, alone or
    several; those that optimizers are given where they are made, and schedules; of losses those that are not what holds
    one."""

    methods: dict[str, frozenset[str]]
    clips: frozenset[str] = frozenset()
    losses: frozenset[str] = frozenset()
    scalers: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    wrapped: frozenset[str] = frozenset()
    averages: frozenset[str] = frozenset()
    gradients: frozenset[str] = frozenset()
    driven: frozenset[str] = frozenset()
    holding: frozenset[str] = frozenset()
    graded: frozenset[str] = frozenset()
    optimizers: frozenset[str] = frozenset()
    bare: frozenset[str] = frozenset()
    scheduled: frozenset[str] = frozenset()

    def is_scaler(self, name: str) -> bool:
        """Whether a name is used as a gradient scaler is."""
        used = self.methods.get(name, frozenset())
        if name in self.scalers:
            return True
        return bool(used & _SCALING) and ("scale" not in used or bool(used & {"step", "update", "unscale_"}))

    def is_optimizer(self, name: str) -> bool:
        """Whether a name is used as an optimizer is, or called one and stepped."""
        used = self.methods.get(name, frozenset())
        if name in self.optimizers:
            return True
        if _SCHEDULER(name) or "step" not in used or self.is_scaler(name):
            return False
        return "zero_grad" in used or _OPTIMIZER(name)

    def may_optimize(self, name: str) -> bool:
        """Whether a name is used as an optimizer is, or is called one and zeroes gradients: by what it may step."""
        named = _OPTIMIZER(name) and "zero_grad" in self.methods.get(name, ())
        return named or self.is_optimizer(name)

    def is_engine(self, name: str) -> bool:
        """Whether a name is used as an object that both back-propagates and steps."""
        return name != "self" and {"backward", "step"} <= self.methods.get(name, frozenset())

    def steps(self, call: ir.Call) -> bool:
        """Whether a call is `optimizer.step()`, `scaler.step(optimizer)` or `engine.step()`, as far as names tell."""
        if not isinstance(call.func, ir.Attr) or call.func.name != "step":
            return False
        owner = last(call.func.owner)
        if _SCHEDULER(owner) or is_tool(owner):
            return False
        return self.plays(owner) or _SCALER(owner) or self.is_engine(owner)

    def acts(self, call: ir.Call) -> bool:
        """Whether a call may be an event of the training step."""
        if measures(call) or averages(call):
            return True
        if not isinstance(call.func, ir.Attr):
            return last(call.func) in self.clips | self.wrappers | {BY_HAND}
        method, owner = call.func.name, last(call.func.owner)
        if writes_gradients(method) or method == SWITCHES_GRADIENTS:
            return True
        if method in self.wrappers or (method in UPDATES and (owner in self.averages or is_average(owner))):
            return True
        if method in ("update", "scale", "load_state_dict"):
            return self.is_scaler(owner) or _SCALER(owner)
        if method in ("step", "step_update"):
            return not is_tool(owner)
        if method == "close":
            return not _STACKED.isdisjoint(self.methods.get(owner, ()))
        if self.may_optimize(owner) and method not in QUIET:
            return True
        if hides(method) and not is_tool(owner):
            return True
        return method in _ACTS or (
            method.endswith("_") and any(map(self.is_gradient, (call.func.owner, *call.args[:1])))
        )

    def is_gradient(self, node: ir.Expr) -> bool:
        """Whether an expression is a gradient, or a list of them, as far as names tell."""
        each = getattr(node, "element", node)
        return _on_gradient(each) or (isinstance(each, ir.Name) and each.name in self.graded)

    def over_losses(self, loop: ir.For | ir.While) -> bool:
        """Whether a loop goes over losses of one micro-step (or over what back-propagates them), not over batches."""
        over = isinstance(loop, ir.For) and not binds(loop.target).isdisjoint(self.bare)
        return over and not any(isinstance(part, ir.Call) and self.steps(part) for part in walk(loop))

    def plays(self, name: str) -> bool:
        """Whether a name is that of an optimizer or a scaler."""
        return self.is_optimizer(name) or self.is_scaler(name)


def goes_back(call: ir.Call) -> bool:
    """Whether a call back-propagates."""
    return isinstance(call.func, ir.Attr) and call.func.name == "backward"


def erases(call: ir.Call) -> bool:
    """Whether a call zeroes gradients."""
    return isinstance(call.func, ir.Attr) and call.func.name == "zero_grad"


def _on_gradient(node: object) -> bool:
    """Whether an expression is (a part of) some `.grad`."""
    while isinstance(node, (ir.Attr, ir.Item)):
        if isinstance(node, ir.Attr) and node.name == "grad":
            return True
        node = node.owner
    return False


def acts(node: ir.Stmt | ir.Expr, usage: Usage) -> bool:
    """Whether an event of the training step may happen right here, calls of the module's own functions aside."""
    return any(_changes(part) or (isinstance(part, ir.Call) and _may_act(part, usage)) for part in walk(node))


def _may_act(call: ir.Call, usage: Usage) -> bool:
    return usage.acts(call) or _reduces(call) or _hands_over(call, usage)


def _reduces(call: ir.Call) -> bool:
    """Whether a gradient is put together with those of the other ranks."""
    return last(call.func) in COLLECTING and bool(call.args) and _on_gradient(call.args[0])


def _changes(node: object) -> bool:
    """Whether a gradient is assigned, such as by `p.grad = None`, or a model's synchronisation switched."""
    if not isinstance(node, (ir.Assign, ir.Augment)):
        return False
    return _on_gradient(node.target) or last(node.target) == SWITCH


def _hands_over(call: ir.Call, usage: Usage) -> bool:
    """Whether an optimizer, a scaler, gradients or the whole trainer are passed to a call: anything may happen."""
    values = (*call.args, *(value for _, value in call.keywords))
    names = [part.name for value in values for part in walk(value) if isinstance(part, (ir.Name, ir.Attr))]
    names += [last(value) for value in call.starred]
    if any(isinstance(value, ir.Call) and last(value.func) == "locals" for value in (*values, *call.starred)):
        return not only_reads(last(call.func))
    if any(name == "self" or name in usage.holding or usage.plays(name) for name in names):
        return True
    if not (usage.scheduled.isdisjoint(names) or only_reads(last(call.func))):
        return True
    if (isinstance(call.func, ir.Name) and hides(last(call.func))) or _may_change_a_model(call, names):
        return True
    return bool(usage.gradients) and any(
        isinstance(part, ir.Name) and part.name in usage.gradients for value in values for part in walk(value)
    )


def _may_change_a_model(call: ir.Call, names: Iterable[str]) -> bool:
    """Whether a function is given a model, and no word of its own says that it only runs it or looks at it."""
    name = last(call.func)
    if not isinstance(call.func, ir.Name) or only_reads(name) or only_runs(name) or name[:1].isupper():
        return False
    return any(one == "parameters" or _MODEL(one) for one in names)


def usage_of(body: Iterable[ir.Stmt]) -> Usage:
    """The usage of every name in a module."""
    methods = _handed_on(body)
    clips, scalers, averages, gradients = set(CLIPS), set(), set(), set()
    unread, losses = _unread_classes(body), _losses(body)
    for statement in body:
        for node in walk(statement):
            if isinstance(node, ir.Assign) and any(name.endswith("GradScaler") for name in calls(node.value)):
                scalers |= binds(node.target)
            if isinstance(node, ir.Assign) and not _AVERAGES.isdisjoint(calls(node.value)):
                averages |= binds(node.target)
            if isinstance(node, ir.Assign) and _on_gradient(getattr(node.value, "element", None)):
                gradients |= binds(node.target)
            if isinstance(node, ir.Assign) and isinstance(node.value, ir.Call) and last(node.value.func) in unread:
                for name in binds(node.target):
                    methods.setdefault(name, set()).add(UNREAD)
            if isinstance(node, ir.Import) and node.qualified.rpartition(".")[2] in CLIPS:
                clips.add(node.name)
            if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr):
                methods.setdefault(last(node.func.owner), set()).add(node.func.name)
                if _steps_for(node.func):
                    methods.setdefault(last(node.args[0]) if node.args else "", set()).add("step")
    methods.pop("", None)
    wrappers = wrapping(body)
    found = Usage(
        {name: frozenset(used) for name, used in methods.items()},
        frozenset(clips),
        frozenset(losses),
        frozenset(scalers),
        wrappers,
        wrapped(body, wrappers),
        frozenset(averages),
        frozenset(gradients),
        driven(body),
        optimizers=frozenset(optimizers(body)),
        bare=frozenset(name for name, bare in losses.items() if bare),
        scheduled=schedules(body),
    )
    return replace(found, holding=frozenset(holding(body, found.plays)), graded=_graded(body))


_OF_OPTIMIZERS = frozenset({"param_groups", "state", "defaults", "optimizer", "optim", "lr", "rate", "learning_rate"})


def _settings(body: Iterable[ir.Stmt]) -> Iterator[str]:
    """The names of options that may be taken for optimizers: an attribute is read that is neither a method nor one of
    an optimizer."""
    nodes = [node for statement in body for node in walk(statement)]
    called = {id(node.func) for node in nodes if isinstance(node, ir.Call)}
    for node in nodes:
        if isinstance(node, ir.Attr) and node.name not in _OF_OPTIMIZERS and id(node) not in called:
            if _OPTIONS(last(node.owner)) and node.name not in _ACTS:
                yield last(node.owner)


def _handed_on(body: Iterable[ir.Stmt]) -> dict[str, set[str]]:
    """The methods of each name that are values somewhere, and perhaps called where it has another name; the wrappers
    that it is asked for; and whether it is that of settings."""
    methods: dict[str, set[str]] = asked(body)
    for method in handed(body):
        methods.setdefault(last(method.owner), set()).add(method.name)
    for name in _settings(body):
        methods.setdefault(name, set()).add(words.OF_SETTINGS)
    return methods


def _graded(body: Iterable[ir.Stmt]) -> frozenset[str]:
    """The names that gradients are bound to: `g = p.grad`, `grads = [p.grad for p in parameters]`, `for g in grads`."""
    bound: list[tuple[ir.Expr, ir.Expr]] = []
    for node in (node for statement in body for node in walk(statement)):
        if isinstance(node, ir.Assign):
            bound.append((node.target, node.value))
        elif isinstance(node, (ir.For, ir.Comprehension)):
            bound.append((node.target, node.source))
    found: set[str] = {node.name for node in _walruses(body) if _on_gradient(node.value)}
    while True:
        usage = Usage({}, graded=frozenset(found))
        more = {name for target, value in bound if usage.is_gradient(value) for name in binds(target)}
        if more <= found:
            return usage.graded
        found |= more


def _walruses(body: Iterable[ir.Stmt]) -> Iterator[ir.Walrus]:
    return (node for statement in body for node in walk(statement) if isinstance(node, ir.Walrus))


def _steps_for(method: ir.Attr) -> bool:
    """Whether it is a scaler that is to step what it is handed first, or has to unscale for it: an optimizer."""
    return method.name == "unscale_" or (method.name == "step" and _SCALER(last(method.owner)))


def _unread_classes(body: Iterable[ir.Stmt]) -> set[str]:
    """The classes that a module takes from others, those of the libraries aside whose schedules are known."""
    imports = [node for statement in body for node in walk(statement) if isinstance(node, ir.Import)]
    foreign = [node.name for node in imports if node.qualified.lstrip(".").partition(".")[0] not in SCHEDULED]
    return {name for name in foreign if name[:1].isupper() and not name.isupper()}


def _losses(body: Iterable[ir.Stmt]) -> dict[str, bool]:
    """The names of what is back-propagated or scaled, and whether it is that itself, and not what holds a loss."""
    found: dict[str, bool] = {}
    for node in (part for statement in body for part in walk(statement)):
        method = node.func if isinstance(node, ir.Call) else None
        if isinstance(node, ir.Call) and isinstance(method, ir.Attr) and method.name in ("backward", "scale"):
            owner = (method.owner,) if method.name == "backward" else ()
            for loss in map(_undivided, (*owner, *node.args)):
                found[last(loss)] = found.get(last(loss), False) or not isinstance(loss, ir.Item)
    found.pop("", None)
    return found


def _undivided(node: ir.Expr) -> ir.Expr:
    """What is divided, or the expression itself."""
    return _undivided(node.left) if isinstance(node, ir.Binary) and node.op == "/" else node


_TAKES = within(words.TAKING)
_GRADIENTS = frozenset({"grad", "main_grad"})


def takers(body: Iterable[ir.Stmt]) -> frozenset[ir.Span]:
    """Where anything in a module, run or not, may step an optimizer or use a gradient: by its name, generously."""
    return frozenset(
        node.at for statement in body for node in walk(statement) if isinstance(node, ir.Node) and _takes(node)
    )


def _takes(node: ir.Node) -> bool:
    if isinstance(node, ir.Attr):
        steps = node.name == "step" and not _SCHEDULER(last(node.owner))
        return steps or node.name in _GRADIENTS
    if not isinstance(node, ir.Call) or last(node.func) in ("step", "zero_grad"):
        return isinstance(node, ir.Function) and node.generator
    return _TAKES(last(node.func)) and last(node.func) != "update" and not _SCHEDULER(last(node.func))


def averages(call: ir.Call) -> bool:
    """Whether a call takes the weights of a model into an average, by hand or by the name of what is called."""
    name = last(call.func)
    return name == AVERAGED_BY_HAND or (len(call.args) > 1 and updates_one(name))
