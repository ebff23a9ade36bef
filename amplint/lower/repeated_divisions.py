"""Losses that a method normalizes over the window more than once.

A loss is normalized by a division by the count of what the whole window holds, and by `super().compute_loss` that is
handed this count: what it does not divide itself, the trainer does (`transformers/trainer.py` of 5.23,
`training_step`). A division by the window's length after that is one too many; alone it may be the one that is due.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from amplint.flow import program as ir
from amplint.lower.names import last, walk

COUNT = "num_items_in_batch"
WINDOWS = frozenset({"gradient_accumulation_steps", "current_gradient_accumulation_steps"})
_MAKERS = frozenset({"compute_loss", "__call__"})


@dataclass(frozen=True)
class Again:
    """A statement that normalizes what is normalized, by `divisor`; `before`: what did so first, in words."""

    node: ir.Stmt
    divisor: str
    before: str


def divided_again(method: ir.Function) -> Again | None:
    """The statement by which what a method returns is normalized once more; what a branch, a loop or a block does is
    not asked."""
    known: dict[str, str] = {}
    for node in method.body:
        for value in _values(node):
            divisor, before = _last_division(value), normalized(value.left, known) if _is_quotient(value) else None
            if divisor and before:
                return Again(node, divisor, before)
        if not isinstance(node, (ir.Return, ir.Do)):
            known = after(node, known)
    return None


def _values(node: ir.Stmt) -> Iterator[ir.Binary]:
    """The quotients that a statement assigns or returns, the inner ones first."""
    if isinstance(node, ir.Augment) and node.op.rstrip("=") == "/":
        yield ir.Binary(node.at, "/", node.target, node.value)
    elif isinstance(node, (ir.Assign, ir.Return)) and node.value is not None:
        whole_ones = parts(node.value) if isinstance(node, ir.Return) else [node.value]
        yield from (part for whole in whole_ones for part in _quotients(whole))


def _quotients(value: ir.Expr) -> list[ir.Binary]:
    """A quotient and, in its dividend, those within, the innermost first."""
    return [*_quotients(value.left), value] if isinstance(value, ir.Binary) and value.op == "/" else []


def parts(value: ir.Expr) -> list[ir.Expr]:
    """What may be returned, in a tuple or under a condition."""
    if isinstance(value, ir.Display):
        return [part for item in value.items for part in parts(item)]
    return [*parts(value.yes), *parts(value.no)] if isinstance(value, ir.Choice) else [value]


def _is_quotient(value: ir.Expr) -> bool:
    return isinstance(value, ir.Binary) and value.op == "/"


def _last_division(value: ir.Binary) -> str:
    """The name of the count, or of the window, by which a quotient is divided last; empty for anything else."""
    name = last(value.right)
    return name if name == COUNT or name in WINDOWS else ""


def normalized(value: ir.Expr, known: Mapping[str, str]) -> str | None:
    """By what a value is normalized over the window, in words; None where that is not certain."""
    if isinstance(value, ir.Name):
        return known.get(value.name)
    if isinstance(value, ir.Binary) and value.op == "/":
        return f"`{COUNT}`" if last(value.right) == COUNT else normalized(value.left, known)
    return "the trainer's own `compute_loss`" if _is_handed_on(value) else None


def _is_handed_on(value: ir.Expr) -> bool:
    """Whether a value is what `super()` makes of a loss when it is handed the count."""
    if not isinstance(value, ir.Call) or not isinstance(value.func, ir.Attr) or value.func.name not in _MAKERS:
        return False
    above = isinstance(value.func.owner, ir.Call) and last(value.func.owner.func) == "super"
    given = (*value.args, *(word for _, word in value.keywords))
    return above and any(last(part) == COUNT for whole in given for part in walk(whole) if isinstance(part, ir.Expr))


def after(node: ir.Stmt, known: Mapping[str, str]) -> dict[str, str]:
    """What is known to be normalized after a statement."""
    if isinstance(node, ir.Assign) and isinstance(node.target, (ir.Name, ir.Display)):
        names = node.target.items if isinstance(node.target, ir.Display) else (node.target,)
        rest = {name: by for name, by in known.items() if name not in {last(one) for one in names}}
        by = normalized(node.value, known)
        return rest if by is None else {last(names[0]): by, **rest}
    if isinstance(node, ir.Augment) and isinstance(node.target, ir.Name):
        rest = {name: by for name, by in known.items() if name != node.target.name}
        by = f"`{COUNT}`" if node.op.rstrip("=") == "/" and last(node.value) == COUNT else None
        return rest if by is None else {node.target.name: by, **rest}
    return {}
