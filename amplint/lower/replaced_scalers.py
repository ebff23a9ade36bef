"""The scaler that a constructor chose for sharded models, replaced by a plain one in a method that is called later."""

from __future__ import annotations

from collections.abc import Iterator

from amplint.flow import program as ir
from amplint.lower.made_scalers import makes_plain, reached
from amplint.lower.names import dotted, last, reads, speaks_of_shards, walk
from amplint.lower.scopes import Scope
from amplint.protocol.events import Site
from amplint.protocol.facts import REPLACED, Fact

_SHARDED = "ShardedGradScaler"


def replaced_scalers(path: str, body: tuple[ir.Stmt, ...]) -> Iterator[Fact]:
    """Where an attribute that the constructor of a class sets to a sharded scaler is set to a plain one of torch.

    It is so in a method that the constructor does not reach, that makes no sharded scaler for the attribute, and that
    does not ask whether the model is sharded.
    """
    scope = Scope.of_module(body)
    for klass in (node for statement in body for node in walk(statement) if isinstance(node, ir.Class)):
        methods = {node.name: node for node in klass.body if isinstance(node, ir.Function)}
        first = methods.get("__init__")
        sharded = {dotted(node.target) for node in _made(first) if _makes_sharded(node)}
        early = reached(methods, "__init__") if sharded else set(methods)
        for method in (node for name, node in methods.items() if name not in early):
            own = {dotted(node.target) for node in _made(method) if _makes_sharded(node)}
            for node in _made(method):
                if dotted(node.target) in sharded - own and makes_plain(node.value, scope) and not _asks(method):
                    yield Fact(REPLACED, Site(path, *node.at), {"scaler": dotted(node.target)})


def _made(method: ir.Function | None) -> list[ir.Assign]:
    """The assignments to attributes in a method."""
    inside = walk(method) if method is not None else []
    return [node for node in inside if isinstance(node, ir.Assign) and isinstance(node.target, ir.Attr)]


def _makes_sharded(node: ir.Assign) -> bool:
    return any(isinstance(part, ir.Call) and last(part.func) == _SHARDED for part in walk(node.value))


def _asks(method: ir.Function) -> bool:
    """Whether a method asks whether the model is sharded."""
    tests = (part.test for part in walk(method) if isinstance(part, (ir.If, ir.Choice)))
    return any(speaks_of_shards(reads(test)) for test in tests)
