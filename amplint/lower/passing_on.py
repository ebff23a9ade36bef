"""The functions of a program that act only through others, such as `def run(**options): main(parsed(options))`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from amplint.flow import program as ir
from amplint.lower.names import last, walk

_WORK = frozenset({"backward", "step", "unscale_", "zero_grad", "clip_grad_norm_", "clip_grad_value_"})


def passing_on(program: ir.Program) -> Mapping[int, frozenset[int]]:
    """Such a function -> those by which it acts, all by identity."""
    found = list(_functions(program.body))
    acting = {function.name: id(function) for function in found if function.backward or function.steps}
    return {id(function): through for function in found if (through := _through(function, acting))}


def _through(function: ir.Function, acting: Mapping[str, int]) -> frozenset[int]:
    """The acting functions that a function calls; none if it loops, or may have a part in the step itself."""
    parts = [part for node in function.body for part in walk(node)]
    calls = {last(part.func) for part in parts if isinstance(part, ir.Call)}
    if not _WORK.isdisjoint(calls) or any(isinstance(part, (ir.For, ir.While, ir.Function)) for part in parts):
        return frozenset()
    return frozenset(acting[name] for name in calls if name in acting)


def _functions(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Function]:
    """The functions of a module, and those of its classes."""
    for node in body:
        if isinstance(node, ir.Function):
            yield node
        elif isinstance(node, (ir.Class, ir.If, ir.Try, ir.With)):
            yield from _functions(node.body)
