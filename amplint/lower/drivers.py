"""Whether a framework's own loop runs over the methods that a class overrides, or one that stands in its place.

Who defines a method of that loop without calling the framework's, or assigns one, has a loop of his own; so has who
calls by hand what the framework would call, and who derives a class that does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from amplint.flow import program as ir
from amplint.lower.names import last, says, walk


def replaced(classes: Iterable[ir.Class], names: Collection[str]) -> bool:
    """Whether classes put something of their own in the place of one of some methods."""
    return any(_replaces(node, names) for klass in classes for node in klass.body)


def _replaces(node: ir.Stmt, names: Collection[str]) -> bool:
    if isinstance(node, ir.Assign):
        return last(node.target) in names
    return isinstance(node, ir.Function) and node.name in names and not _goes_on(node)


def _goes_on(method: ir.Function) -> bool:
    """Whether a method calls the one that it overrides: of `super()`, or of a class by its name."""
    owners = (part.owner for part in walk(method) if isinstance(part, ir.Attr) and part.name == method.name)
    return any(_is_above(owner) for owner in owners)


def _is_above(owner: ir.Expr) -> bool:
    if isinstance(owner, ir.Call):
        return last(owner.func) == "super"
    return isinstance(owner, ir.Name) and owner.name[:1].isupper()


def driven_by_hand(nodes: Iterable[object], names: Collection[str]) -> bool:
    """Whether some code calls one of some methods of an object that is not its own, or puts another in its place."""
    return any(_calls_or_puts(node, names) for node in nodes)


def _calls_or_puts(node: object, names: Collection[str]) -> bool:
    if isinstance(node, ir.Assign):
        return isinstance(node.target, ir.Attr) and node.target.name in names
    if put_by_name(node, names):
        return True
    if not isinstance(node, ir.Call) or not isinstance(node.func, ir.Attr) or node.func.name not in names:
        return False
    owner = node.func.owner
    return not _is_above(owner) and not (isinstance(owner, ir.Name) and owner.name == "self")


def put_by_name(node: object, names: Collection[str]) -> bool:
    """Whether a call is `setattr` of one of some names."""
    if not isinstance(node, ir.Call) or last(node.func) != "setattr" or len(node.args) < 2:
        return False
    return isinstance(node.args[1], ir.Const) and node.args[1].value in names


def switched_off(nodes: Iterable[object], flag: str) -> bool:
    """Whether some code names the flag by which a loop is the user's: as a name, a property or for `setattr`; but not
    to say that it is not."""
    named, every = (ir.Name, ir.Attr, ir.Function), list(nodes)
    on = {id(node.target) for node in every if isinstance(node, ir.Assign) and says(node.value, True)}
    return any(
        (isinstance(node, named) and node.name == flag and id(node) not in on) or put_by_name(node, {flag})
        for node in every
    )
