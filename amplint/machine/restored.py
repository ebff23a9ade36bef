"""What calls that are not seen return to several names, and what goes through one that restores a checkpoint.

`model, optimizer, epoch = load_checkpoint(model, optimizer, path)`: the state is put into the objects that are handed
in, and they are what comes back.
"""

from __future__ import annotations

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.domains import tensors
from amplint.flow import program as ir
from amplint.machine import attributes
from amplint.machine.expressions import element, evaluate
from amplint.protocol.values import with_changes
from amplint.state.run import Run
from amplint.state.scopes import Scope
from amplint.state.values import NUMBER, Loss, Origin, Symbol, Value

_RESTORES = within(words.RESTORING, "checkpoint checkpoints ckpt ckpts")


def returned(run: Run, scope: Scope, node: ir.Assign, value: Value) -> Value:
    """What a call returned; of one that is not seen and restores, what went in under a name comes back under it."""
    call, target = node.value, node.target
    if not isinstance(call, ir.Call) or type(value) is not Symbol or not _RESTORES(_last(call.func)):
        return value
    handed = {_spelled(one) for one in (*call.args, *(given for _, given in call.keywords))} - {""}
    if not isinstance(target, ir.Display):
        return _come_back(run, scope, target, value) if _spelled(target) in handed else value
    parts = [(item, part(run, value, index, item)) for index, item in enumerate(target.items)]
    return tuple(_come_back(run, scope, item, one) if _spelled(item) in handed else one for item, one in parts)


def _come_back(run: Run, scope: Scope, target: ir.Expr, unknown: Value) -> Value:
    """The object of a name; a number is read from the checkpoint."""
    found = evaluate(run, scope, target)
    return unknown if found is None or isinstance(found, (str, *NUMBER)) else found


def part(run: Run, value: Value, index: int, target: ir.Expr) -> Value:
    """One of several values that a call returned; of a governed call they carry the name that they are given."""
    if isinstance(value, Loss):
        return value if index == 0 else Symbol("output", Origin.DATA)
    if isinstance(value, Symbol) and isinstance(target, (ir.Name, ir.Attr)):
        if index == 0 and value.tags & tensors.LOSS_FIRST:
            return attributes.own_loss(run, value)
        return with_changes(value, text=target.name, offset=0, tags=_tags(value, index))
    return element(value, str(index))


def _tags(value: Symbol, index: int) -> frozenset[str]:
    """What is said of a part: what is said of the whole, but for that it begins with a loss."""
    kept = value.tags - tensors.BEGINS_WITH_LOSS
    return kept | tensors.of_element(value, index == 0)


def _last(func: ir.Expr) -> str:
    return func.name if isinstance(func, (ir.Name, ir.Attr)) else ""


def _spelled(node: ir.Expr) -> str:
    """The name that an expression is, or the attribute of one; empty for anything else."""
    if isinstance(node, ir.Attr):
        owner = _spelled(node.owner)
        return f"{owner}.{node.name}" if owner else ""
    return node.name if isinstance(node, ir.Name) else ""
