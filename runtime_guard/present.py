"""The loss scales that a run's scalers have now, and where a loss was multiplied by one without its scaler.

`loss * scaler.get_scale()` leaves a product with a number, `loss * scaler._scale` one with the scaler's own tensor. The
first is known by its value, on the host only; the second by where the tensor lies.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from torch import Tensor

from amplint.protocol.ledger import LEAST_SCALE
from runtime_guard.kept import Node, saved


class Scale(NamedTuple):
    """The scale of an enabled scaler: the scaler's name, the number if the host knows it, where its tensor lies."""

    scaler: str
    number: float | None
    place: int

    @property
    def large(self) -> bool:
        """Whether a loss that is multiplied by as much can hardly be meant to weigh so much."""
        return self.number is None or self.number >= LEAST_SCALE


def scales_of(scalers: Iterable[tuple[Any, str]]) -> tuple[Scale, ...]:
    """The scales of some scalers that have one."""
    found = [(name, scaler._scale) for scaler, name in scalers if scaler._enabled]
    return tuple(
        Scale(name, float(scale.item()) if scale.is_cpu else None, scale.data_ptr())
        for name, scale in found
        if type(scale) is Tensor
    )


def multiplier_at(node: Node, scales: tuple[Scale, ...]) -> tuple[int, Scale] | None:
    """Which child of a product goes on to the loss, and the scale that this is multiplied by; None for any other."""
    if not scales or node.name() != "MulBackward0":
        return None
    children = [child for child, _ in node.next_functions]
    if children.count(None) != 1:
        return None
    at = 0 if children[0] is not None else 1
    value = saved(node, "self" if at else "other")
    scale = _same(value, scales)
    return None if scale is None else (at, scale)


def _same(value: Any, scales: tuple[Scale, ...]) -> Scale | None:
    """The scale that a value is."""
    if isinstance(value, Tensor):
        if type(value) is not Tensor or value.numel() != 1:
            return None
        at = value.data_ptr()
        known = next((scale for scale in scales if scale.place == at != 0), None)
        if known is not None or not value.is_cpu or value.is_complex():
            return known
        value = float(value.detach().item())
    number = value if isinstance(value, int | float) and value != 1 else None
    return next((scale for scale in scales if number is not None and scale.number == number), None)
