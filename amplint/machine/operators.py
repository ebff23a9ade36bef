"""What operators do to objects of the program's own classes: its own methods say so."""

from __future__ import annotations

from amplint.flow import program as ir
from amplint.machine import attributes, gradient_values
from amplint.state import mappings
from amplint.state.run import Run
from amplint.state.values import Flow, Incomplete, Instance, Method, Value

_METHODS = {"+": "add", "-": "sub", "*": "mul", "/": "truediv"}


def binary(run: Run, node: ir.Binary, left: Value, right: Value) -> tuple[Value] | None:
    """The value of an operation that a class of the program defines, or on a gradient; None where none is."""
    if isinstance(left, Flow) or isinstance(right, Flow):
        return gradient_values.binary(run, node, left, right)
    if node.op == "|" and isinstance(left, dict) and isinstance(right, dict):
        joined = {**left}
        mappings.update(joined, right, isinstance(right, Incomplete), run.in_batches > 0)
        return (Incomplete(joined) if isinstance(left, Incomplete) or isinstance(right, Incomplete) else joined,)
    if isinstance(left, str) and isinstance(right, str) and node.op == "+":
        return (left + right,)
    if node.op not in _METHODS or not (isinstance(left, Instance) or isinstance(right, Instance)):
        return None
    for owner, other, name in ((left, right, "__{}__"), (right, left, "__r{}__")):
        if isinstance(owner, Instance):
            method = attributes.read(run, owner, name.format(_METHODS[node.op]))
            if isinstance(method, Method):
                return (_invoked(run, method, other, node.at),)
    return None


def augmented(run: Run, node: ir.Binary, left: Value, right: Value) -> tuple[Value] | None:
    """The value of `left op= right` where the class of `left` has a method for it, or `left` is a list, which is
    changed; None for any other."""
    if node.op == "+" and isinstance(left, list) and isinstance(right, (list, tuple)):
        mappings.extend(left, right)
        return (left,)
    if node.op in _METHODS and isinstance(left, Instance):
        method = attributes.read(run, left, f"__i{_METHODS[node.op]}__")
        if isinstance(method, Method):
            return (_invoked(run, method, right, node.at),)
    return None


def _invoked(run: Run, method: Method, other: Value, at: ir.Span) -> Value:
    """What a method returns; that it adds to something is told where the operator stands."""
    run.in_operator += 1
    try:
        return run.invoke(method, [other], {}, at)
    finally:
        run.in_operator -= 1
