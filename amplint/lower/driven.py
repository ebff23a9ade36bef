"""Which calls drive a training though every torch object has a method called so: `trainer.train()`, `solver.run()`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from amplint.flow import program as ir
from amplint.lower.names import binds, last, walk

_DRIVES = frozenset({"train", "run"})
_DEPTH = 4


def driven(body: Iterable[ir.Stmt]) -> frozenset[str]:
    """`trainer.train` where a class of the module has that method and `trainer` is bound to an object of it,
    `Trainer().train` for a new object."""
    nodes = [node for statement in body for node in walk(statement)]
    own = {node.name: node for node in nodes if isinstance(node, ir.Class)}
    drives = {name: _DRIVES & _methods(name, own) for name in own}
    found = {f"{name}().{method}" for name, methods in drives.items() for method in methods}
    for node in nodes if found else ():
        if isinstance(node, ir.Assign) and isinstance(node.value, ir.Call):
            methods = drives.get(last(node.value.func), frozenset())
            found |= {f"{name}.{method}" for name in binds(node.target) for method in methods}
    return frozenset(found)


def _methods(name: str, own: Mapping[str, ir.Class], depth: int = _DEPTH) -> set[str]:
    """The names of the methods of a class of the module, those of its bases of the module included."""
    if name not in own or not depth:
        return set()
    found = {child.name for child in own[name].body if isinstance(child, ir.Function)}
    return found.union(*(_methods(last(base), own, depth - 1) for base in own[name].bases))
