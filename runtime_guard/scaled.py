"""Which scaler has scaled what is back-propagated, or whether a framework has.

The scaler's name stands in the metadata of the node that `scaler.scale` makes: it goes when the graph goes. A framework
that has a scale of its own multiplies the loss last, by a power of two or by a number of the device (DeepSpeed 0.19.8,
`scale_if_loss`; Megatron-Core, `scale_loss`), and takes it out of what it steps: in `.grad` and in the graph it is no
part of the loss's weight.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from math import log2
from typing import Any

from torch import Tensor

from amplint.protocol.ledger import LEAST_SCALE
from runtime_guard.kept import constant, saved
from runtime_guard.loss_graph import CHAINS, SCALE, mark_scale
from runtime_guard.present import Scale, multiplier_at
from runtime_guard.terms import Term
from runtime_guard.ways import Outcome

MARK = "runtime_guard.scaler"
OWN = "runtime_guard.own_scale"
_HEAVY = 16.0
"""Hardly any loss weighs so much against all others."""
_NODES = 16
"""What was done to a loss after it was scaled is a handful of operations, if anything."""


def mark(outputs: Any, scaler: str) -> None:
    """Leaves a scaler's name with what it has scaled."""
    if isinstance(outputs, Tensor):
        if outputs.grad_fn is not None:
            metadata_of(outputs.grad_fn)[MARK] = scaler
    elif isinstance(outputs, list | tuple):
        for output in outputs:
            mark(output, scaler)


def carries(outputs: Any, scaler: str | None) -> bool:
    """Whether something, or a part of it, is what a scaler has made, with nothing done to its numbers since."""
    if isinstance(outputs, list | tuple):
        return any(carries(output, scaler) for output in outputs)
    node = outputs.grad_fn if isinstance(outputs, Tensor) else None
    while node is not None and node.name() in CHAINS:
        node = node.next_functions[0][0]
    return node is not None and scaler is not None and metadata_of(node).get(MARK) == scaler


def scaler_of(roots: Sequence[Tensor], present: tuple[Scale, ...] = ()) -> str | None:
    """The name of the scaler whose scale is in one of these losses, put there by itself or, if it is one of those
    `present`, by hand; None when there is none nearby."""
    waiting = deque(root.grad_fn for root in roots if root.grad_fn is not None)
    for _ in range(_NODES):
        if not waiting:
            return None
        node = waiting.popleft()
        if node.name() == "MulBackward0" and (name := metadata_of(node).get(MARK)) is not None:
            return str(name)
        if (by_hand := multiplier_at(node, present)) is not None:
            return by_hand[1].scaler
        waiting.extend(inner for inner, _ in node.next_functions if inner is not None)
    return None


def mark_own(roots: Sequence[Tensor]) -> None:
    """Leaves with losses that a framework back-propagates that the last number they were multiplied by is its scale."""
    for root in roots:
        node: Any = root.grad_fn
        if node is None or node.name() != "MulBackward0" or SCALE in metadata_of(node):
            continue
        operands = [name for name, (child, _) in zip(_OPERANDS, node.next_functions, strict=True) if child is None]
        if len(operands) == 1 and (found := _scale(node, operands[0])) is not None:
            mark_scale(root, found or None)
            metadata_of(node)[OWN] = True


def own_scale(roots: Sequence[Tensor]) -> bool:
    """Whether losses carry the scale of a framework, which takes it out by itself."""
    return any(root.grad_fn is not None and OWN in metadata_of(root.grad_fn) for root in roots)


_OPERANDS = ("self", "other")


def _scale(node: Any, operand: str) -> float | None:
    """The number that a loss is multiplied by, if it may be a loss scale: 0 where only a device knows it."""
    value = saved(node, operand)
    if isinstance(value, Tensor) and not value.is_cpu:
        return 0.0 if value.numel() == 1 else None
    number = constant(node, operand)
    return number if number is not None and number >= LEAST_SCALE and log2(number).is_integer() else None


def is_scaled(outcome: Outcome, scaler: str | None, present: tuple[Scale, ...], handed: bool) -> bool | None:
    """Whether a loss carries a loss scale, as it was measured; None where it may. `scaler`: whose scale is in it, or
    near. `handed`: the backward began with gradients that somebody had made."""
    if not outcome.terms:
        return True if scaler is not None else (None if handed and present else False)
    if outcome.scaled is not False or not present:
        return outcome.scaled
    return None if scaler is not None or handed or all(map(_may_carry, outcome.terms)) else False


def _may_carry(term: Term) -> bool:
    """Whether a criterion may weigh what it weighs for a loss scale, perhaps divided by something."""
    weight = term.weight
    return (term.factor is None and term.multiplied) if weight is None else abs(weight) >= _HEAVY


def found_by(scalers: Iterable[Any], optimizer: Any) -> list[Tensor] | None:
    """What a scaler has found in the gradients of an optimizer that it has unscaled, since its last update, and has not
    stepped: more than 0 for an overflow. None if no scaler has unscaled them."""
    for scaler in scalers:
        state = scaler._per_optimizer_states.get(id(optimizer))
        if state is not None and state["stage"].name == "UNSCALED":
            return list(state["found_inf_per_device"].values())
    return None


def metadata_of(node: Any) -> dict[str, Any]:
    """What Python may leave with an autograd node (torch 2.13 annotates it as a method, it is an attribute)."""
    found: dict[str, Any] = node.metadata
    return found
