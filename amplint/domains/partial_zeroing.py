"""What is done to some elements only: gradients that are erased of some parameters, so that these stay as they are (a
layer that is frozen at first), and steps of some optimizers of a collection that is not seen.

To the optimizer of the other parameters nothing happens. One element stands for all of a collection: what it is passed
over for may be done to the next one.
"""

from __future__ import annotations

from amplint.flow import program as ir
from amplint.protocol.events import STEPS, Kind
from amplint.state.run import Run
from amplint.state.values import Condition, Gradient, Symbol, Value, text_of


def picks(node: ir.If, test: Value) -> bool:
    """Whether what is erased under a test is what the test picks out."""
    return _picks(test) and (any(map(_erases, node.body)) or any(map(_erases, node.orelse)))


def passes_over(run: Run, node: ir.If, test: Value, updates: int) -> bool:
    """Whether a test has just kept one element of a collection that is not seen from a step, which others may take.

    `updates`: how many there were before it.
    """
    inner = node.gates and bool(run.loops) and not run.loops[-1].backward
    return inner and isinstance(test, (Symbol, Condition)) and "[*]" in text_of(test) and run.passed[1] == updates


def spares(run: Run) -> bool:
    """Whether an erasure leaves other gradients, made since the last step."""
    return run.picked > 0 and _waits(run)


def spares_others(run: Run, erased: Gradient) -> bool:
    """Whether an optimizer that is about to step holds, or may hold, more than the gradients that are erased: those of
    one of its models, or of a collection that is not seen."""
    if erased.holder is not None or not _waits(run):
        return False
    holding = [found for found in run.optimizers.values() if erased.model in found.models]
    return erased.model is None or any(len(found.models) > 1 for found in holding)


def _waits(run: Run) -> bool:
    """Whether there are gradients that no step has used."""
    kinds = (event.kind for event in reversed(run.events) if event.kind is Kind.BACKWARD or event.kind in STEPS)
    return next(kinds, None) is Kind.BACKWARD


def _picks(test: Value) -> bool:
    """Whether a test picks out parameters: what needs no gradient has nothing to lose."""
    return isinstance(test, (Symbol, Condition)) and not text_of(test).endswith("requires_grad")


def _erases(node: ir.Stmt) -> bool:
    """Whether a statement, or one under its test, erases the gradient of one parameter."""
    if isinstance(node, ir.If):
        return any(map(_erases, node.body)) or any(map(_erases, node.orelse))
    if isinstance(node, ir.Assign):
        return isinstance(node.target, ir.Attr) and node.target.name == "grad"
    func = node.value.func if isinstance(node, ir.Do) and isinstance(node.value, ir.Call) else None
    return isinstance(func, ir.Attr) and func.name == "zero_" and getattr(func.owner, "name", "") in ("grad", "data")
