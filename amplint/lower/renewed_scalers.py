"""Scalers that are made anew after their state has been loaded, which is lost with the scaler that had it."""

from __future__ import annotations

from collections.abc import Iterator

from amplint.flow import program as ir
from amplint.lower.made_scalers import makes_plain, reached
from amplint.lower.names import dotted, functions, walk
from amplint.lower.scopes import Scope
from amplint.protocol.events import Site
from amplint.protocol.facts import LOADED, Fact


def renewed_scalers(path: str, body: tuple[ir.Stmt, ...]) -> Iterator[Fact]:
    """Where a scaler is made without condition, though it has had its state by then and is not given it again: further
    up in the same function, or in the constructor of the class."""
    scope = Scope.of_module(body)
    for _, function in functions(body):
        for at, node in enumerate(function.body):
            name = _made(node, scope)
            before, after = function.body[:at], function.body[at:]
            if name and any(_loads(one, name) for one in before) and not any(_loads(one, name) for one in after):
                yield _fact(path, node, name)
    for klass in (node for statement in body for node in walk(statement) if isinstance(node, ir.Class)):
        yield from _of_class(path, klass, scope)


def _fact(path: str, node: ir.Stmt, name: str) -> Fact:
    return Fact(LOADED, Site(path, *node.at), {"optimizer": True, "scaler": False, "renewed": name})


def _made(node: ir.Stmt, scope: Scope) -> str:
    """The name that a statement gives to a new scaler of torch's, or of a class of the user's in another case."""
    return dotted(node.target) if isinstance(node, ir.Assign) and makes_plain(node.value, scope) else ""


def _loads(node: object, name: str) -> bool:
    """Whether a scaler is given a state in a statement."""
    return any(isinstance(part, ir.Call) and dotted(part.func) == f"{name}.load_state_dict" for part in walk(node))


def _of_class(path: str, klass: ir.Class, scope: Scope) -> Iterator[Fact]:
    """A method that the constructor does not reach, where the constructor has loaded the state."""
    methods = {node.name: node for node in klass.body if isinstance(node, ir.Function)}
    every = [(name, node, _made(node, scope)) for name, method in methods.items() for node in method.body]
    made = [one for one in every if one[2].startswith("self.")]
    early = reached(methods, "__init__") if made else set()
    first = [node for name in early for node in walk(methods[name])]
    for name, node, scaler in made:
        loaded = any(_loads(one, scaler) for one in first)
        again = any(_loads(methods[other], scaler) for other in reached(methods, name))
        if name not in early and loaded and not again:
            yield _fact(path, node, scaler)
