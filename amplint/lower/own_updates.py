"""The gradients in a method that a framework calls which are no affair of the framework's: the method steps them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import dotted

_SCHEDULE = within(words.SCHEDULER)


def own_updates(nodes: Sequence[ir.Node], is_kept: Callable[[ir.Expr], bool]) -> frozenset[int]:
    """The calls, by identity, behind which the next step of an optimizer is one of the method's own.

    A backward is for that step only if the method zeroes the optimizer too. `is_kept`: whether the framework steps what
    a step is called on."""
    methods = [node for node in nodes if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr)]
    zeroed = {_owner(call) for call in methods if _method(call) == "zero_grad"} - {""}
    found: set[int] = set()
    waiting: list[ir.Call] = []
    for call in (node for node in nodes if isinstance(node, ir.Call)):
        if _method(call) == "step" and not _SCHEDULE(_owner(call)):
            kept = isinstance(call.func, ir.Attr) and is_kept(call.func.owner)
            found |= {id(one) for one in waiting if not kept and (_method(one) != "backward" or _owner(call) in zeroed)}
            waiting = []
        else:
            waiting.append(call)
    return frozenset(found)


def _method(call: ir.Call) -> str:
    return call.func.name if isinstance(call.func, ir.Attr) else ""


def _owner(call: ir.Call) -> str:
    """What a method is called on, as far as it has a name."""
    return dotted(call.func.owner) if isinstance(call.func, ir.Attr) else ""
