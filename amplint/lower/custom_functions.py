"""Custom autograd functions whose backward multiplies matrices, and the autocast regions that their forward runs in.

A function that casts by itself, that is decorated, or that a region is switched off for, knows what it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.dialects.syntax import AUTOCASTS, FUNCTIONS
from amplint.flow import program as ir
from amplint.lower.names import calls, last, says, walk
from amplint.lower.scopes import Scope

_PRODUCTS = frozenset(
    """addbmm addmm addmv addr baddbmm bmm chain_matmul conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d einsum linear matmul mm multi_dot mv prelu""".split()
)
"""What autocast runs in its lower precision: https://docs.pytorch.org/docs/2.13/amp.html#autocast-op-reference."""

_CASTS = frozenset("to float half bfloat16 double type type_as".split())
_OF_CASTS = ("dtype", "autocast", "custom_fwd", "custom_bwd", "amp_")


def unprepared(body: tuple[ir.Stmt, ...], scope: Scope) -> frozenset[int]:
    """The classes, by their identity, that raise in their backward after a forward under autocast."""
    nodes = [node for statement in body for node in walk(statement)]
    classes = [node for node in nodes if isinstance(node, ir.Class) and _multiplies(node, scope)]
    if not classes or not any(isinstance(node, ir.Call) and last(node.func) == "backward" for node in nodes):
        return frozenset()
    regions = [node for node in nodes if isinstance(node, ir.With) and _casts(node.context, scope)]
    if any(_switches_off(node) for node in nodes):
        return frozenset()
    covered = _covered(regions, nodes)
    return frozenset(id(node) for node in classes if node.name in covered)


def _multiplies(node: ir.Class, scope: Scope) -> bool:
    """Whether a class is such a function: it keeps tensors, and its backward multiplies with them as they are."""
    if not any(scope.qualified(base) in FUNCTIONS for base in node.bases):
        return False
    methods = {child.name: child for child in node.body if isinstance(child, ir.Function)}
    back, forth = methods.get("backward"), methods.get("forward")
    if back is None or forth is None:
        return False
    plain = all(last(mark) == "staticmethod" for method in methods.values() for mark in method.decorators)
    parts = [part for method in methods.values() for child in method.body for part in walk(child)]
    named = {str(getattr(part, "name", "")) for part in parts} | {key for part in parts for key in _keywords(part)}
    return plain and "saved_tensors" in named and not any(map(_speaks_of_casts, named)) and _has_product(back)


def _keywords(node: object) -> Iterator[str]:
    return (name for name, _ in node.keywords) if isinstance(node, ir.Call) else iter(())


def _has_product(method: ir.Function) -> bool:
    parts = [part for child in method.body for part in walk(child)]
    return any(isinstance(part, ir.Binary) and part.op == "@" for part in parts) or any(
        isinstance(part, ir.Call) and last(part.func) in _PRODUCTS for part in parts
    )


def _casts(context: ir.Expr, scope: Scope) -> bool:
    return isinstance(context, ir.Call) and scope.qualified(context.func) in AUTOCASTS


def _switches_off(node: object) -> bool:
    """Whether a region is made with `enabled=False`, for what cannot run in it."""
    given = dict(node.keywords) if isinstance(node, ir.Call) and "autocast" in last(node.func) else {}
    return says(given.get("enabled"), False)


def _covered(regions: list[ir.With], nodes: Iterable[object]) -> set[str]:
    """The names whose `apply` is called in a region: there, or in what is called there, through the module."""
    users = {node.name: node for node in nodes if isinstance(node, (ir.Function, ir.Class))}
    objects = {
        last(node.target): calls(node.value) & users.keys()
        for node in nodes
        if isinstance(node, ir.Assign) and isinstance(node.value, ir.Call)
    }
    waiting: list[object] = [child for region in regions for child in region.body]
    found: set[str] = set()
    seen: set[str] = set()
    while waiting:
        node = waiting.pop()
        found |= {last(part.owner) for part in walk(node) if isinstance(part, ir.Attr) and part.name == "apply"}
        called = calls(node)
        for name in (called | set().union(*(objects.get(one, set()) for one in called))) & users.keys() - seen:
            seen.add(name)
            waiting += users[name].body
    return found


def _speaks_of_casts(name: str) -> bool:
    """Whether a name says that something is cast, or under which precision it runs."""
    lowered = name.lower()
    return lowered in _CASTS or any(one in lowered for one in _OF_CASTS)
