"""Where a program's training loops stand: the smallest loops that both back-propagate and step, through calls too.

Where no loop does, it is the loop that back-propagates, or the function whose caller loops over the batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from amplint.flow import program as ir

Placed = tuple[ir.For | ir.While | ir.Function, str]


def extent(node: ir.Stmt) -> ir.Span:
    """Where a statement stands, with all that is in it: a compound one's own place is that of its head."""
    last = max((extent(child)[2:] for child in _inside(node)), default=node.at[2:])
    return (*node.at[:2], *max(node.at[2:], last))


def loop_places(body: tuple[ir.Stmt, ...]) -> list[Placed]:
    """The training loops of a module, each with the name of the function that it stands in (empty for none)."""
    return list(_in_body(body, "")) + [placed for function in functions_in(body) for placed in _in_function(function)]


def goes_back_itself(node: ir.Stmt) -> bool:
    """Whether a loss is back-propagated in a statement, and not only by what it calls."""
    if isinstance(node, ir.Do) and isinstance(node.value, ir.Call) and isinstance(node.value.func, ir.Attr):
        return node.value.func.name == "backward"
    return any(map(goes_back_itself, _inside(node)))


def functions_in(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Function]:
    """The functions of a body, those of its classes and of its functions too."""
    for node in body:
        if isinstance(node, ir.Function):
            yield node
        if isinstance(node, ir.Function | ir.Class):
            yield from functions_in(node.body)
        else:
            yield from functions_in(_inside(node))


def _in_function(function: ir.Function) -> Iterator[Placed]:
    found = list(_in_body(function.body, function.name))
    parts = [node for node, _ in found if isinstance(node, ir.For | ir.While) and not node.shape.steps]
    steps = function.backward and function.steps and len(parts) == len(found)
    if steps and (not function.loops or _follows(function.body, parts)):
        yield function, function.name
    else:
        yield from found


def _follows(body: tuple[ir.Stmt, ...], loops: Sequence[ir.Stmt]) -> bool:
    """Whether the one loop over the micro-steps of a window stands in a body itself: what follows it is to step."""
    return len(loops) == 1 and any(node is loops[0] for node in body)


def _in_body(body: tuple[ir.Stmt, ...], function: str) -> Iterator[Placed]:
    loops = [loop for loop in _loops(body) if loop.shape.backward]
    whole = [loop for loop in loops if loop.shape.steps] or loops
    for loop in whole:
        if not any(inner is not loop and inner in whole for inner in _loops(loop.body)):
            yield loop, function


def _loops(body: tuple[ir.Stmt, ...]) -> Iterator[ir.For | ir.While]:
    """The loops of a body, those of the functions in it left out."""
    for node in body:
        if isinstance(node, ir.For | ir.While):
            yield node
        if not isinstance(node, ir.Function | ir.Class):
            yield from _loops(_inside(node))


def _inside(node: ir.Stmt) -> tuple[ir.Stmt, ...]:
    handlers = (child for handler in getattr(node, "handlers", ()) for child in handler)
    return (*getattr(node, "body", ()), *getattr(node, "orelse", ()), *handlers, *getattr(node, "final", ()))
