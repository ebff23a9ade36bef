"""What a number is called that grows amid the batches by something that is not known.

What it has come to after each batch would be a text of its own, longer every time, and every question about it another
one. A number that is known is called by its name there (`arithmetic.named_text`), and asked once for the whole run;
so is one that is not known, by the text that it had when it first grew. One that the loop sets back counts out a
window perhaps: how long that is, is what those questions say.
"""

from __future__ import annotations

from amplint.flow import program as ir
from amplint.flow.spelling import spelled
from amplint.protocol.values import with_changes
from amplint.state.run import Run
from amplint.state.values import Symbol, Value, last_part


def grown(run: Run, target: ir.Expr, before: Value, after: Value) -> Value:
    """What a target holds that held another value before, and that something was added to, or taken from."""
    if type(after) is not Symbol or not _goes_on(run, target):
        return after
    name = spelled(target)
    if type(before) is Symbol and run.grown.get(name) == (before.text, before.offset):
        return with_changes(after, text=before.text, offset=before.offset)
    run.grown[name] = after.text, after.offset
    return after


def is_added_to(target: ir.Expr, value: ir.Expr) -> bool:
    """Whether what a target is set to is what it held, and something added to that or taken from it."""
    added = isinstance(target, (ir.Name, ir.Attr)) and isinstance(value, ir.Binary) and value.op in ("+", "-")
    return added and isinstance(value, ir.Binary) and spelled(value.left) == spelled(target)


def _goes_on(run: Run, target: ir.Expr) -> bool:
    """Whether a target is never set back amid the batches, as far as the loops say that run."""
    if not run.in_batches or not run.loops or not isinstance(target, (ir.Name, ir.Attr)):
        return False
    return not any(last_part(spelled(target)) in shape.anew for shape in run.loops if not shape.nested)
