"""The curves of a report, as points: what the page draws and TensorBoard is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Points = list[tuple[float, float]]
Curves = dict[str, dict[str, Points]]


def curves_of(report: Mapping[str, Any]) -> Curves:
    """Quantity -> optimizer or scaler -> points of (window, value); sorted, without empty curves.

    `{"loss_scale": {"GradScaler": [...]}}` and the flat form `{"GradScaler/loss_scale": [...]}` are both read.
    """
    found: Curves = {}
    for quantity, owner, points in sorted(_entries(report.get("curves") or {}), key=lambda entry: entry[:2]):
        if points:
            found.setdefault(quantity, {})[owner] = [(float(at), float(value)) for at, value in points]
    if "effective_learning_rate" not in found and (effective := _effective(found)):
        found["effective_learning_rate"] = effective
    return dict(sorted(found.items()))


def _effective(found: Curves) -> dict[str, Points]:
    """The learning rate of each window times the weight that its losses had together."""
    weights = found.get("weight_sum_by_graph") or found.get("weight_sum_by_arithmetic") or {}
    effective = {}
    for owner, points in found.get("learning_rate", {}).items():
        weight = dict(weights.get(owner, ()))
        if both := [(at, value * weight[at]) for at, value in points if at in weight]:
            effective[owner] = both
    return effective


def _entries(curves: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for name, value in curves.items():
        if isinstance(value, Mapping):
            yield from ((name, str(owner), points) for owner, points in value.items())
        else:
            owner, _, quantity = name.rpartition("/")
            yield quantity, owner, value
