"""What a module does with the norms of gradients that it measures: looks at them, or computes with them.

A gradient that is divided by its norm does not feel the loss scale; a norm that is divided by the scale has none any
more; and whether a norm is finite does not depend on it.
"""

from __future__ import annotations

from collections.abc import Iterable

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import binds, last, reads, walk

_SCALE, _FINITE = within(words.SCALED), within(words.FINITE)
_DIVIDES = frozenset({"div", "div_", "true_divide"})


def measures(call: ir.Call) -> bool:
    """Whether a call takes the norm of gradients, or its name says so."""
    name = last(call.func)
    if "norm" not in name:
        return False
    owner = call.func.owner if isinstance(call.func, ir.Attr) else call.func
    values = (part for value in (owner, *call.args) for part in walk(value))
    return "grad" in name or any(isinstance(part, ir.Attr) and part.name == "grad" for part in values)


def computes_with_norms(body: Iterable[ir.Stmt]) -> bool:
    """Whether something is divided by a norm of gradients, it by the loss scale, or asked whether it is finite.

    What is shown instead of a norm that is not finite (`norm if isfinite(norm) else 0`) is only looked at.
    """
    nodes = [node for statement in body for node in walk(statement)]
    made = (node for node in nodes if isinstance(node, (ir.Assign, ir.Augment)) and _measures(node.value))
    names = frozenset(name for node in made for name in binds(node.target))
    shown = {id(part) for node in nodes if isinstance(node, ir.Choice) for part in walk(node.test)}
    return any(_computes(node, names) for node in nodes if id(node) not in shown)


def _measures(value: object) -> bool:
    return any(isinstance(part, ir.Call) and measures(part) for part in walk(value))


def _computes(node: object, names: frozenset[str]) -> bool:
    if isinstance(node, (ir.Binary, ir.Augment)) and node.op in ("/", "*"):
        first, second = (node.left, node.right) if isinstance(node, ir.Binary) else (node.target, node.value)
        below = second if node.op == "/" else None
        return (below is not None and _is_norm(below, names)) or _unscales(first, second, names)
    if not isinstance(node, ir.Call):
        return False
    if last(node.func) in _DIVIDES or _FINITE(last(node.func)):
        return any(_is_norm(value, names) for value in node.args)
    return False


def _is_norm(value: object, names: frozenset[str]) -> bool:
    return bool(reads(value) & names) or _measures(value)


def _unscales(first: object, second: object, names: frozenset[str]) -> bool:
    """Whether one of two factors is a norm, and the other is called a scale."""
    return any(
        _is_norm(one, names) and any(map(_SCALE, reads(other))) for one, other in ((first, second), (second, first))
    )
