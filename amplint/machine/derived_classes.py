"""Classes that derive from a class of the program, and what they put in the place of its methods.

A class is run as the one that fills in what it leaves to others: where it is made nowhere in the module, or leaves a
method empty that an heir lets take part in the step, nobody trains with the class itself. One that derives from a class
of a neighbouring file is run through the methods of that.
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.flow import program as ir
from amplint.state.roles import is_loss_name
from amplint.state.scopes import Scope
from amplint.state.values import Class

MAX_HEIRS = 4


def heirs(program: ir.Program, klass: str | None) -> list[ir.Class]:
    """The classes of a module that fill in what a class of it leaves to others."""
    return [node for node in _derived(program.body, klass) if filled_in(program, klass, node)] if klass else []


def filled_in(program: ir.Program, klass: str | None, heir: ir.Class) -> tuple[ir.Function, ...]:
    """The methods of a class that take part in the step in the place of those of the class that it derives from."""
    above = next((node for node in _classes(program.body) if node.name == klass), None)
    return _filling(above, heir, made=_is_made(program, klass)) if above is not None else ()


def concrete(program: ir.Program, scope: Scope, klass: Class, asked: str | None) -> Class:
    """The class that fills in what a class leaves to others: the one that is asked for, the first one, or itself."""
    found = scope.names.get(asked) if asked is not None else None
    if isinstance(found, Class):
        return found
    others = (other for other in scope.names.values() if isinstance(other, Class) and klass in other.bases)
    made = _is_made(program, klass.node.name)
    return next((other for other in others if _filling(klass.node, other.node, made)), klass)


def inherited(program: ir.Program) -> Iterator[tuple[ir.Function, ir.Class, tuple[ir.Function, ...]]]:
    """The methods that train of classes of neighbouring files, each with a class of the module that derives from theirs
    and with what this puts in the place of others."""
    imports = {node.name: node.qualified for node in program.body if isinstance(node, ir.Import)}
    for heir in _classes(program.body):
        for base in heir.bases if len(heir.bases) == 1 else ():
            file, name = program.links.get((program.path, imports.get(getattr(base, "name", ""), "")), ("", ""))
            above = next((node for node in _classes(program.neighbours.get(file, ())) if node.name == name), None)
            own = _filling(above, heir, made=False) or _added(above, heir) if above is not None else ()
            taken = {method.name for method in _methods(heir)}
            for method in _methods(above) if above is not None and own else ():
                if method.backward and method.steps and method.name not in taken:
                    yield method, heir, own


def _classes(body: tuple[ir.Stmt, ...]) -> list[ir.Class]:
    return [node for node in body if isinstance(node, ir.Class)]


def _derived(body: tuple[ir.Stmt, ...], klass: str) -> list[ir.Class]:
    return [node for node in _classes(body) if any(getattr(base, "name", "") == klass for base in node.bases)]


def _methods(klass: ir.Class) -> list[ir.Function]:
    return [child for child in klass.body if isinstance(child, ir.Function)]


def _filling(above: ir.Class, heir: ir.Class, made: bool) -> tuple[ir.Function, ...]:
    """The methods of an heir that fill in those of the class above; of one that is `made` by itself, empty ones."""
    held = {method.name: method for method in _methods(above)}
    return tuple(own for own in _methods(heir) if own.name in held and _fills_in(held[own.name], own, made))


def _added(above: ir.Class, heir: ir.Class) -> tuple[ir.Function, ...]:
    """The methods of an heir that take part in the step, and that the class above does not have: it may call them."""
    held = {method.name for method in _methods(above)}
    return tuple(own for own in _methods(heir) if own.name not in held and (own.backward or own.steps))


def _fills_in(above: ir.Function, own: ir.Function, made: bool) -> bool:
    """Whether a method takes part in the step, or gives the loss, where that of the class above does nothing of it."""
    if own.name.startswith("__") or not own.body:
        return False
    acts = own.backward or own.steps or own.zeroes or own.relevant
    empty = not (above.backward or above.steps or above.body)
    return acts if empty else (acts or is_loss_name(own.name)) and not made


def _is_made(program: ir.Program, klass: str | None) -> bool:
    """Whether a function of the module makes an object of a class by its name."""
    return klass in program.called
