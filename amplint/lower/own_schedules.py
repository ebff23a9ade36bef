"""Schedules that the program computes itself: classes that derive from torch's, functions that one is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from amplint.dialects.schedules import DERIVED_FROM, OF_FUNCTIONS, Schedule
from amplint.flow import program as ir
from amplint.lower.names import last, reads, walk
from amplint.lower.project import function_of

METHODS = frozenset({"get_lr", "_get_closed_form_lr"})
"""What computes the rates in a class of its own: torch 2.13, `lr_scheduler.py`, `LRScheduler.step`."""


@dataclass(frozen=True)
class OwnSchedules:
    """The methods of such classes and the functions that are handed to a schedule, by identity: all that they read
    may say what they count. `makes`: the calls that make the object one of torch's. `names`: what those functions, and
    what makes them, are called.
    """

    bodies: frozenset[int] = field(default=frozenset())
    makes: frozenset[int] = field(default=frozenset())
    names: frozenset[str] = field(default=frozenset())

    @property
    def asked(self) -> frozenset[str]:
        """The names of the methods that torch calls."""
        return METHODS if self.makes or self.bodies else frozenset()


def own_schedules(body: Iterable[ir.Stmt]) -> OwnSchedules:
    """The schedules that a module computes itself."""
    nodes = [node for statement in body for node in walk(statement)]
    classes = [node for node in nodes if isinstance(node, ir.Class)]
    derived = set(DERIVED_FROM)
    while more := {node.name for node in classes if _derives(node, derived)} - derived:
        derived |= more
    methods = [method for node in classes if _derives(node, derived) for method in _methods(node)]
    handed = _handed(nodes)
    functions = (node for node in nodes if handed and isinstance(node, ir.Function) and node.name in handed)
    makes = (node for method in methods if method.name == "__init__" for node in method.body if _makes(node))
    return OwnSchedules(
        frozenset(map(id, (*(one for one in methods if one.name != "__init__"), *functions))),
        frozenset(map(id, makes)),
        handed,
    )


Makers = Mapping[str, Schedule]
"""What functions of the project make, by their names."""


def own_makers(path: str, body: Iterable[ir.Stmt]) -> Makers:
    """The schedules that functions return which are called as those of transformers are: for so many steps."""
    nodes = [node for statement in body for node in walk(statement)]
    own = {node.name: node for node in body if isinstance(node, ir.Function)}
    called = {node.func.name for node in nodes if isinstance(node, ir.Call) and isinstance(node.func, ir.Name)}
    imports = [node for node in nodes if isinstance(node, ir.Import) and node.name in called]
    taken = {node.name: function for node in imports if (function := function_of(path, node.qualified)) is not None}
    return {name: made for name, node in (taken | own).items() if (made := _made_by(node)) is not None}


def _made_by(function: ir.Function) -> Schedule | None:
    """What a function makes that returns a schedule of torch's, by its parameters."""
    returned = (part.value for node in function.body for part in walk(node) if isinstance(part, ir.Return))
    makes = any(isinstance(value, ir.Call) and last(value.func) in OF_FUNCTIONS for value in returned)
    places = {param.name: place for place, param in enumerate(function.params) if param.name in _OF_STEPS}
    horizons = {name: places[name] for name in _OF_STEPS if name in places}
    return Schedule(horizons, batches=True) if makes and horizons else None


_OF_STEPS = ("num_training_steps", "num_warmup_steps")


def _derives(node: ir.Class, derived: set[str]) -> bool:
    return any(last(base) in derived for base in node.bases)


def _methods(node: ir.Class) -> Iterable[ir.Function]:
    return (child for child in node.body if isinstance(child, ir.Function))


def _handed(nodes: Iterable[object]) -> frozenset[str]:
    """The names of the functions that schedules of torch's are made of, and of what hands such a function out."""
    made: dict[str, set[str]] = {}
    found = set[str]()
    for node in nodes:
        if isinstance(node, ir.Assign):
            made.setdefault(last(node.target), set()).update(_functions(node.value))
        elif isinstance(node, ir.Call):
            found |= {name for value in _factors(node) for name in _functions(value)}
    while more := {name for one in found for name in made.get(one, ())} - found:
        found |= more
    return frozenset(found)


def _functions(value: ir.Expr) -> set[str]:
    """The names in a value that may be those of functions: its own, in a list, of what is called and handed to it."""
    if isinstance(value, ir.Display):
        return {name for item in value.items for name in _functions(item)}
    if isinstance(value, ir.Call):
        return {last(value.func), *map(last, value.args)} - {""}
    return {last(value)} - {""}


def nameless(node: ir.Stmt) -> set[str]:
    """The names in the nameless functions that a schedule of torch's is made of."""
    calls = (part for part in walk(node) if isinstance(part, ir.Call))
    return {name for call in calls for value in _factors(call) for name in _names(value)}


def _names(value: ir.Expr) -> set[str]:
    return {name for part in walk(value) if isinstance(part, ir.Lambda) for name in reads(part)}


def _factors(call: ir.Call) -> tuple[ir.Expr, ...]:
    if last(call.func) not in OF_FUNCTIONS:
        return ()
    return (*call.args[1:2], *(value for _, value in call.keywords))


def _makes(node: ir.Stmt) -> bool:
    """Whether a statement calls the constructor of the class that is derived from."""
    call = node.value if isinstance(node, ir.Do) else None
    return isinstance(call, ir.Call) and last(call.func) == "__init__"
