"""Reading and writing attributes: of objects of the program, of torch's objects, of symbols."""

from __future__ import annotations

from fractions import Fraction

from amplint.dialects import GOVERNS
from amplint.dialects.methods import COMPILED_FROM, HANDS_OUT, KEEPS_DTYPE, MAKES_MODELS, MOVES
from amplint.dialects.syntax import DEVICE
from amplint.domains import parameter_owners, provenance, ranks, tensors, told_windows
from amplint.domains.ignored import OF_LABELS
from amplint.flow import program as ir
from amplint.machine import libraries, neighbours, places
from amplint.machine.numbers_before import numbers_before
from amplint.protocol.events import Kind
from amplint.protocol.values import with_changes
from amplint.state import mappings, records
from amplint.state.class_members import MISSING, in_bases, in_class
from amplint.state.records import as_dict
from amplint.state.run import Run
from amplint.state.scopes import Scope
from amplint.state.truths import resolve
from amplint.state.values import (
    NUMBER,
    Bound,
    Class,
    Criterion,
    Function,
    Gradient,
    Incomplete,
    Instance,
    Loss,
    Method,
    Optimizer,
    Origin,
    Parameters,
    Public,
    Scaler,
    Scheduler,
    Super,
    Symbol,
    Trail,
    Value,
    text_of,
)


def read(run: Run, owner: Value, name: str) -> Value:
    """`owner.name`."""
    if name == "_per_optimizer_states":
        run.emit(Kind.OPAQUE, ir.NOWHERE)  # the program goes by the scaler's own books
    if name == COMPILED_FROM or (type(owner) is Symbol and name == "__dict__"):
        return owner
    if type(owner) is Symbol:
        adopted = libraries.adopt(run, owner)
        if adopted is not None:
            return _of_instance(run, adopted, name)
        returned = part_of_output(run, owner, name)
        return returned if returned is not None else _of_symbol(run, owner, name)
    owner = resolve(run, owner)
    if name == "__dict__" and isinstance(owner, Instance):
        return as_dict(owner.attributes)
    if isinstance(owner, Instance):
        return _of_instance(run, owner, name)
    if (put := places.held(run, owner, name)) is not None:
        return put
    if isinstance(owner, Super):
        found = in_bases(owner.klass, name)
        return _bound(run, owner.instance, found) if found is not MISSING else _of_a_base(owner.instance, name)
    if isinstance(owner, Class):
        found = in_class(owner, name)
        return _of_class(owner, found) if found is not MISSING else _of_a_base(owner, name)
    if isinstance(owner, Public):
        known = libraries.find(run, f"{owner.name}.{name}")
        found = known if known is not None else neighbours.public(run, f"{owner.name}.{name}")
        return Public(found.name, member=True) if isinstance(found, Public) else found
    if name == "grad" and isinstance(owner, Parameters):
        return Gradient(owner.model, holder=owner.holder)
    if _is_itself(owner, name):
        return owner
    if isinstance(owner, Loss) and name in ("data",):
        return Symbol("loss", Origin.DATA, tags=frozenset({"number"}))
    if isinstance(owner, (Optimizer, Scaler, Scheduler, Loss, Gradient, str, list, tuple, dict)):
        return Bound(owner, name)
    if owner is None:  # it cannot be, so it is something that could not be followed
        owner = Symbol("None", Origin.OPAQUE)
    return _of_symbol(run, owner, name) if isinstance(owner, Symbol) else Bound(owner, name)


def _is_itself(owner: Value, name: str) -> bool:
    """Whether an attribute of an object is, as far as a step goes, the object."""
    if isinstance(owner, Criterion):
        return name == "forward"
    return isinstance(owner, Gradient) and name in ("data", "grad")


def _of_class(klass: Class, found: Value) -> Value:
    """What is read from a class itself: a method of classes is bound to it."""
    return Method(found, klass) if isinstance(found, Function) and "classmethod" in marks(found.node) else found


def _of_a_base(instance: Value, name: str) -> Value:
    """A method of the class of torch's, or of a class that is not seen, from which an object's class derives; of a
    class of models read from itself, the one by which a library makes an object of it."""
    if isinstance(instance, Class):
        makes = name in MAKES_MODELS and isinstance(in_class(instance, "forward"), Function)
        return Bound(instance, name) if makes else Symbol(f"{instance.node.name}.{name}")
    scheduler = instance.inherits if isinstance(instance, Instance) else None
    if scheduler is None:
        return Bound(Symbol("super()"), name)
    return Bound(scheduler, OVERRIDDEN if name == "step" else name)


OVERRIDDEN = "super().step"
"""The step that a class of the program overrides: it happens where that of the class was called."""


def part_of_output(run: Run, output: Symbol, name: Value) -> Value:
    """What a model returned under a name: what was put there since, else its loss, a mean over the batch; None where
    neither is known."""
    found = places.held(run, output, name)
    if found is not None or not output.forward:
        return found
    first = name == 0 and bool(output.tags & tensors.LOSS_FIRST)
    return own_loss(run, output) if name == "loss" or first else None


def own_loss(run: Run, output: Symbol) -> Loss:
    """The loss that a model returned, a mean over the batch."""
    trail = Trail(born=run.born, forward=output.ran, reach=output.reach)
    return Loss(Fraction(1), trail=trail, ignores=OF_LABELS)


def _of_symbol(run: Run, owner: Symbol, name: str) -> Value:
    """An attribute of something that is not known: a gradient, or another symbol."""
    if name == "grad":
        return Gradient(None, holder=parameter_owners.grouped(run, owner))
    if (known := ranks.attribute(owner, name)) is not None:
        return known
    if name == "dataset" and "loaded" in owner.tags and owner.given is not None:
        return owner.given
    if name == "type" and DEVICE in owner.tags and isinstance(owner.given, str):
        return owner.given.partition(":")[0]
    text = f"{text_of(owner)}.{name}"
    half, through = owner.half and name in KEEPS_DTYPE, provenance.kept(owner, name)
    like = (owner.forward, owner.governed)
    tags = tensors.kept(owner, name)
    return Symbol(text, owner.origin, 0, *like, tags, ran=owner.ran, half=half, reach=through, given=owner.given)


def write(run: Run, owner: Value, name: str, value: Value) -> None:
    """`owner.name = value`."""
    owner = resolve(run, owner)
    ranks.switch(run, owner, name, value)
    if isinstance(owner, Instance):
        _set(run, owner, name, value)
    elif isinstance(owner, Class):
        owner.attributes[name] = value
    else:
        if isinstance(owner, Optimizer) and name in ("step", "zero_grad") and value != Bound(owner, name):
            owner.governed = True  # by what has been put in the place of its own method
        told_windows.tell(run, owner, [value])
        places.put(run, owner, name, value)


def lacks(run: Run, value: Value, name: Value) -> bool:
    """Whether an optimizer of torch's own class is asked for what it does not have, and nobody has put there."""
    if not isinstance(value, Optimizer) or not value.has or value.governed or not isinstance(name, str):
        return False
    has = name in value.has or name.startswith(("_", "register_"))
    return not has and text_of(value) not in run.remade and places.held(run, value, name) is None


SETTERS = frozenset({"deleter", "setter"})
"""Decorators, attributes of a property, of what sets or deletes it."""


def bound_as(node: ir.Function) -> str:
    """The name that a definition binds; what sets a property stands beside the property."""
    marks = [one.name for one in node.decorators if isinstance(one, ir.Attr) and one.name in SETTERS]
    return f"{node.name}.{marks[0]}" if marks else node.name


def _set(run: Run, owner: Instance, name: str, value: Value) -> None:
    setter = in_class(owner.klass, f"{name}.setter")
    if isinstance(setter, Function):
        run.invoke(Method(setter, owner), [value], {}, setter.node.at)
    else:
        owner.attributes[name] = value


def _of_instance(run: Run, owner: Instance, name: str) -> Value:
    if _moves(owner, name):
        return Bound(owner, name)
    if (known := ranks.attribute(owner, name)) is not None:
        return known
    if name in owner.attributes:
        return owner.attributes[name]
    found = in_class(owner.klass, name)
    if found is not MISSING:
        return _bound(run, owner, found)
    if owner.inherits is not None and name == "step":
        return Bound(owner.inherits, name)
    if name in mappings.METHODS and (held := mappings.items(owner)) is not None:
        return Bound(held, name)
    if name in records.REPLACE and owner.klass.fields:
        return Bound(owner, name)
    return _set_elsewhere(run, owner, name)


def _moves(owner: Instance, name: str) -> bool:
    """Whether an attribute is a method of torch's module that returns the object, or what it holds."""
    inherited = name in MOVES | HANDS_OUT and name not in owner.attributes and in_class(owner.klass, name) is MISSING
    return inherited and _is_module(owner.klass)


def _is_module(klass: Class) -> bool:
    """Whether a class derives from torch's module."""
    return any(
        _is_module(base) if isinstance(base, Class) else text_of(base).endswith("Module") for base in klass.bases
    )


def may_all_be_set(run: Run, owner: Instance) -> None:
    """Takes the settings of an object, and of its class, for defaults: any of them may have another value now, and amid
    the batches every time."""
    unknown = places.unknown if run.in_batches else Symbol
    for name, value in owner.attributes.items():
        if isinstance(value, (str, *NUMBER)):
            owner.attributes[name] = unknown(f"{owner.text}.{name}")
    waiting = [owner.klass]
    while waiting:
        klass = waiting.pop()
        waiting += [base for base in klass.bases if isinstance(base, Class)]
        for name, value in klass.attributes.items():
            if isinstance(value, (int, float, str)):
                owner.attributes.setdefault(name, unknown(f"{owner.text}.{name}"))


def replaced(run: Run, owner: Instance, changed: Value) -> Instance:
    """A copy of an object in which some attributes have other values; of what nobody sees, each may have another."""
    made = Instance(owner.klass, dict(owner.attributes), owner.text, items=dict(owner.items))
    if not isinstance(changed, dict) or isinstance(changed, Incomplete):
        may_all_be_set(run, made)
    made.attributes.update({str(name): value for name, value in changed.items()} if isinstance(changed, dict) else {})
    return made


def _bound(run: Run, instance: Value, found: Value) -> Value:
    """What a class attribute is when it is read from an object: a method, a property's value, or itself."""
    if not isinstance(found, Function) or isinstance(found.node, ir.Lambda):
        return found
    said = marks(found.node)
    if "staticmethod" in said:
        return found
    if "classmethod" in said and isinstance(instance, Instance):
        return Method(found, instance.klass)
    method = Method(found, instance)
    if said & {"property", "cached_property"}:
        return run.invoke(method, [], {}, found.node.at)
    return method


def marks(node: ir.Function | ir.Lambda) -> set[str]:
    """The last names of a function's decorators."""
    return {_last(decorator) for decorator in node.decorators} if isinstance(node, ir.Function) else set()


def _last(node: ir.Expr) -> str:
    return node.name if isinstance(node, (ir.Name, ir.Attr)) else ""


def _set_elsewhere(run: Run, owner: Instance, name: str) -> Value:
    """An attribute that the constructor did not set: what another method assigns, if that makes a known object."""
    unknown = Symbol(f"{owner.text}.{name}", governed=_is_governed(owner.klass))
    if name in owner.pending:
        return unknown
    owner.pending.add(name)
    for function in _methods(owner.klass):
        value = _assigned(run, function).get(name)
        if value is None:
            continue
        first = function.node.params[0].name if function.node.params else "self"
        scope = Scope({first: owner}, function.scope, function=function, instance=owner)
        with neighbours.within(run, function.scope):
            _compute(run, scope, function.node, value)
            found = run.evaluate(scope, value)
        if isinstance(found, Symbol) and ranks.is_wrapped(found):
            found = with_changes(found, text=f"{owner.text}.{name}")
        if isinstance(found, (Optimizer, Scaler, Scheduler, Instance)) or ranks.is_wrapped(found):
            owner.attributes[name] = found
            break
    owner.pending.discard(name)
    return owner.attributes.setdefault(name, unknown)  # not looked for again


def _compute(run: Run, scope: Scope, node: ir.Function | ir.Lambda, value: ir.Expr) -> None:
    """Binds the numbers that a call reads, and which its function computes before it, in the order of the function."""
    for target, number in numbers_before(node, value) if isinstance(node, ir.Function) else ():
        scope.names[target] = run.evaluate(scope, number)


def made_later(run: Run, owner: Value, name: str) -> Value:
    """An attribute that the constructor sets to None and of which something is asked: the object that another method of
    the class makes, by a class of the program or a function that does no more; None where that is not known."""
    if not isinstance(owner, Instance) or owner.attributes.get(name, MISSING) is not None:
        return None
    for function in _methods(owner.klass):
        value = _assigned(run, function).get(name)
        if value is not None and _makes_only(run, function, value):
            del owner.attributes[name]
            found = _set_elsewhere(run, owner, name)
            owner.attributes[name] = found if isinstance(found, Instance) else None
            break
    return owner.attributes[name]


def _makes_only(run: Run, method: Function, node: ir.Expr) -> bool:
    """Whether what is called, by a name of the module of a method, makes an object and does nothing else."""
    if not isinstance(node, ir.Call) or not isinstance(node.func, ir.Name):
        return False
    with neighbours.within(run, method.scope):
        called = run.evaluate(method.scope, node.func)
    return isinstance(called, Class) or (isinstance(called, Function) and not getattr(called.node, "relevant", True))


def _is_governed(klass: Class) -> bool:
    """Whether a class derives from a framework's, whose optimizers and losses are not ours to judge."""
    return any(
        _is_governed(base) if isinstance(base, Class) else text_of(base).partition(".")[0] in GOVERNS
        for base in klass.bases
        if isinstance(base, (Class, Public))
    )


def _methods(klass: Class) -> list[Function]:
    own = [value for value in klass.attributes.values() if isinstance(value, Function)]
    return own + [function for base in klass.bases if isinstance(base, Class) for function in _methods(base)]


def _assigned(run: Run, function: Function) -> dict[str, ir.Expr]:
    """The calls that attributes are assigned in a function, by the attribute's name; found once for all runs."""
    known = run.model.assigned.get(id(function.node))
    if known is None:
        known = run.model.assigned[id(function.node)] = {}
        stack = list(function.node.body) if isinstance(function.node, ir.Function) else []
        while stack:
            node = stack.pop(0)
            if isinstance(node, ir.Assign) and isinstance(node.target, ir.Attr) and isinstance(node.value, ir.Call):
                known.setdefault(node.target.name, node.value)
            for part in ("body", "orelse", "final"):
                stack += getattr(node, part, ()) if not isinstance(node, (ir.Function, ir.Class)) else ()
    return known
