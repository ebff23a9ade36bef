"""New objects of classes of the program; of those that derive from torch's optimizers and schedulers, what they are."""

from __future__ import annotations

from amplint.dialects.constructors import role_of
from amplint.dialects.dialect import Role
from amplint.dialects.public import QUIET
from amplint.domains import escaped_schedules, parameter_dtypes, scheduler_units, schedules, told_windows
from amplint.flow import program as ir
from amplint.machine import attributes, hidden, libraries, public_calls
from amplint.state import class_members, roles
from amplint.state.counts import Length
from amplint.state.run import Run
from amplint.state.values import (
    Arguments,
    Class,
    Function,
    Incomplete,
    Instance,
    Keywords,
    Method,
    Optimizer,
    Public,
    Scheduler,
    Symbol,
    Value,
    last_part,
    text_of,
)


def instantiate(run: Run, klass: Class, args: Arguments, keywords: Keywords, at: ir.Span) -> Value:
    """A new object of a class of the program, its constructor run; of a torch optimizer's subclass, an optimizer."""
    algorithm = _base(klass, Role.OPTIMIZER)
    if algorithm is not None and not _does_more(klass):
        return _optimizer(run, klass, algorithm, args, keywords, at)
    if args and _is_number(klass):
        return args[0]
    instance = Instance(klass, text=klass.node.name.lower() if libraries.defines(klass) else "self")
    schedule = _base(klass, Role.SCHEDULER)
    if schedule is not None:
        return _schedule(run, instance, schedule, args, keywords, at)
    escaped_schedules.escape(run, [*args, *keywords.values()] if hidden.has_hidden_base(klass) else ())
    _construct(run, instance, args, keywords, at)
    parameter_dtypes.constructed(run, instance)
    return instance


def _optimizer(run: Run, klass: Class, algorithm: str, args: Arguments, keywords: Keywords, at: ir.Span) -> Value:
    """An optimizer of torch's, on which the constructor of the program's class runs; what a base does with its methods
    that is not seen, and comes before torch's, nobody knows. It may divide by the window that it is told."""
    beside = f"{algorithm.rpartition('.')[0]}.{klass.node.name}"  # what is called so steps so, or in its own way
    name = beside if class_members.of_class(klass, "step") else algorithm
    made = public_calls.call(run, name, args, keywords, at)
    told_windows.tell(run, made, [*args, *keywords.values()])
    init = class_members.of_class(klass, "__init__")
    if isinstance(init, Function) and isinstance(init.node, ir.Function) and init.node.body:
        run.invoke(Method(init, made), args, keywords, at)
    if hidden.has_hidden_base(klass, before=algorithm):
        run.remade.add(text_of(made))
    return made


def _default(text: str, value: Value) -> Value:
    """A default of a configuration is there to be changed, but for how many: an object that is given no other has as
    many."""
    return value if isinstance(value, int) and type(value) in (int, Length) and value > 1 else Symbol(text)


def _is_number(klass: Class) -> bool:
    """Whether the objects of a class are numbers, and no more."""
    plain = not any(isinstance(value, Function) for value in klass.attributes.values())
    return plain and any(getattr(base, "name", "") in ("float", "int") for base in klass.bases)


def _construct(run: Run, instance: Instance, args: Arguments, keywords: Keywords, at: ir.Span) -> None:
    init = attributes.read(run, instance, "__init__")
    if isinstance(init, Method):
        run.invoke(init, args, keywords, at)
    elif instance.klass.fields:
        unknown = instance.klass.fields if isinstance(keywords, Incomplete) else ()
        instance.attributes.update({name: Symbol(f"{instance.klass.node.name}.{name}") for name in unknown})
        instance.attributes.update(dict(zip(instance.klass.fields, args, strict=False)) | keywords)
        begin = attributes.read(run, instance, "__post_init__")
        if isinstance(begin, Method):
            run.invoke(begin, [], {}, at)


def _schedule(
    run: Run, instance: Instance, base: str, args: Arguments, keywords: Keywords, at: ir.Span
) -> Instance | Scheduler:
    """A scheduler of a class of the program: one of torch's, but for what the class does in a step of its own."""
    made = instance.inherits = Scheduler(run.name("scheduler"), base=base, begins=True)
    _construct(run, instance, args, keywords, at)
    step = attributes.read(run, instance, "step")
    if isinstance(step, Method):
        run.invoke(step, [], {}, at)
    made.begins = False
    if not made.said:  # its constructor is that of torch's class, or is not followed
        own = isinstance(attributes.read(run, instance, "__init__"), Method)
        optimizers = [value for value in (*args, *keywords.values()) if _is_optimizer(run, value)]
        scheduler_units.begin(run, made, base, optimizers[:1] if own else args, {} if own else keywords)
    schedules.compose(run, made, instance)
    scheduler_units.created(run, made, at)
    return instance if _steps_itself(instance.klass) else made


def _is_optimizer(run: Run, value: Value) -> bool:
    return isinstance(value, Optimizer) or (isinstance(value, Symbol) and roles.role_of(run, value) == "optimizer")


def _steps_itself(klass: Class) -> bool:
    """Whether a method of a class takes part in the training step."""
    own = [value.node for name, value in klass.attributes.items() if isinstance(value, Function) and name != "__init__"]
    acts = any(isinstance(node, ir.Function) and (node.relevant or node.name == "step") for node in own)
    return acts or any(_steps_itself(base) for base in klass.bases if isinstance(base, Class))


def _base(klass: Class, role: Role) -> str | None:
    """The public class of a role that a class derives from, None if there is none."""
    for base in klass.bases:
        found = _base(base, role) if isinstance(base, Class) else text_of(base) if isinstance(base, Public) else None
        if found is not None and role_of(found) is role:
            return found
    return None


def _does_more(klass: Class) -> bool:
    """Whether a class of optimizers, or one between it and the public one, does more in its methods than torch's."""
    return _does_more_itself(klass) or any(_does_more(base) for base in klass.bases if isinstance(base, Class))


def _does_more_itself(klass: Class) -> bool:
    """Whether what a class defines itself erases, has another `step` than a plain one, or more to be called beside."""
    step = klass.attributes.get("step")
    if step is None or "zero_grad" in klass.attributes:
        return "zero_grad" in klass.attributes
    plain = isinstance(step, Function) and isinstance(step.node, ir.Function) and _is_plain(step.node)
    return not plain or any(_is_called_on_it(name) for name in klass.attributes)


def _is_plain(step: ir.Function) -> bool:
    return step.updates and not (step.backward or step.steps or step.zeroes)


def _is_called_on_it(name: str) -> bool:
    """Whether others call a method of an optimizer that torch's have not."""
    return name != "step" and not name.startswith("_") and name not in QUIET


_KEEPERS = frozenset("dataclass define frozen mutable NamedTuple BaseModel".split())
"""What writes a constructor for a class that annotates names: `dataclasses` and its likes, `attrs`, `typing`, and
pydantic (2.0)."""


def define(made: Class, decorators: list[Value], names: dict[str, Value]) -> Class:
    """A class with what its body has bound, and with its fields, those of its bases first."""
    inherited = [name for base in made.bases if isinstance(base, Class) for name in base.fields]
    if inherited or not _KEEPERS.isdisjoint(last_part(text_of(one)) for one in (*decorators, *made.bases)):
        made.fields = tuple(dict.fromkeys((*inherited, *made.node.fields)))
    defaults = any("dataclass" in str(part) for part in made.node.decorators)
    for name, value in names.items():
        if isinstance(value, Function):
            value.owner, value.scope = made, made.scope
        elif defaults and name in (*made.fields, *made.node.fields):
            value = _default(f"{made.node.name}.{name}", value)
        made.attributes[name] = value
    return made
