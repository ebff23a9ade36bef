"""Which names a statement may change besides those that it binds: by another name, from another function, or out of
sight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from amplint.flow import program as ir
from amplint.lower.names import binds, last, walk

_TESTED = (ir.If, ir.While, ir.Assert)
_SETTERS = frozenset({"setattr", "__setattr__"})


def other_names(body: Iterable[ir.Stmt]) -> dict[str, set[str]]:
    """For each name that is given to something that has a name: what it had been called before."""
    found: dict[str, set[str]] = {}
    for node in (node for statement in body for node in walk(statement)):
        if isinstance(node, ir.Assign) and isinstance(node.value, (ir.Name, ir.Attr)):
            for name in binds(node.target) - {last(node.value)}:
                found.setdefault(name, set()).add(last(node.value))
    return found


def stored_in(target: ir.Expr, others: Mapping[str, set[str]]) -> set[str]:
    """The other names of the object whose attribute or element is assigned."""
    if not isinstance(target, (ir.Attr, ir.Item)):
        return set()
    return others.get(last(target.owner), set())


def asked(body: Iterable[ir.Stmt]) -> frozenset[str]:
    """The names of objects of which an attribute, an element or an answer decides something."""
    found: set[str] = set()
    for node in (node for statement in body for node in walk(statement)):
        tests = (node.test,) if isinstance(node, _TESTED) else (node,) if isinstance(node, ir.Compare) else ()
        parts = (part for test in tests for part in walk(test) if isinstance(part, (ir.Attr, ir.Item)))
        found |= {last(part.owner) for part in parts}
    return frozenset(found - {"", "self"})


def sets_outside(function: ir.Function) -> frozenset[str]:
    """The names of the functions around it, or of the module, that a function may set."""
    return frozenset(name for node in function.body if isinstance(node, ir.Global) for name in node.names)


def touched(node: ir.Stmt | ir.Expr) -> set[str]:
    """The names of what the calls of a statement are given, and of what they are methods of."""
    made = [part for part in walk(node) if isinstance(part, ir.Call)]
    given = [value for call in made for value in (*call.args, *(value for _, value in call.keywords))]
    owners = [call.func.owner for call in made if isinstance(call.func, ir.Attr)]
    return {last(value) for value in (*given, *owners)} - {""}


def set_by_name(value: ir.Expr) -> set[str]:
    """What `setattr(state, "k", 0)` and `state.__dict__.update(k=0)` change, and the name that they say."""
    if not isinstance(value, ir.Call):
        return set()
    if last(value.func) in _SETTERS and value.args:
        named = {str(one.value) for one in value.args[1:2] if isinstance(one, ir.Const)}
        return ({last(value.args[0])} | named) - {""}
    return _behind(value.func.owner) if isinstance(value.func, ir.Attr) and value.func.name == "update" else set()


def _behind(owner: ir.Expr) -> set[str]:
    """The object whose attributes a mapping holds: `state` of `vars(state)` and of `state.__dict__`."""
    if isinstance(owner, ir.Attr) and owner.name == "__dict__":
        return {last(owner.owner)} - {""}
    behind = isinstance(owner, ir.Call) and last(owner.func) == "vars" and len(owner.args) == 1
    return {last(owner.args[0])} - {""} if behind and isinstance(owner, ir.Call) else set()


def counted(body: Iterable[ir.Stmt]) -> frozenset[str]:
    """The attributes that something adds to, or that are set to what is computed of what they held."""
    found: set[str] = set()
    for node in (node for statement in body for node in walk(statement)):
        grows = isinstance(node, ir.Augment) or (
            isinstance(node, ir.Assign)
            and isinstance(node.value, ir.Binary)
            and last(node.target) in (last(node.value.left), last(node.value.right))
        )
        if isinstance(node, (ir.Assign, ir.Augment)) and grows and isinstance(node.target, ir.Attr):
            found.add(node.target.name)
    return frozenset(found)
