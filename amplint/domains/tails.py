"""What a program says of the batches that are left over of an epoch after its last whole window."""

from __future__ import annotations

from amplint.flow import program as ir
from amplint.state import truths
from amplint.state.run import Run
from amplint.state.values import Condition, Gated, Value


def rules_out(run: Run, node: ir.If, test: Value) -> bool:
    """`if len(loader) % N: raise` says that the window divides the epoch."""
    raises = len(node.body) == 1 and isinstance(node.body[0], ir.Leave) and node.body[0].how == "raise"
    return raises and isinstance(test, (int, Gated)) and run.model.tail > 0 and truths.truth(run, test)


def drops_surplus(run: Run, node: ir.If, test: Value) -> bool:
    """`if update >= updates_per_epoch: continue` drops, on purpose, the batches that fill no window."""
    only = node.body[0] if len(node.body) == 1 and not node.orelse else None
    if not isinstance(only, ir.Leave) or only.how != "continue" or not isinstance(test, Condition):
        return False
    counts = any(isinstance(part, int) for part in test.parts)
    return counts and test.op in (">=", ">") and run.in_batches > 0
