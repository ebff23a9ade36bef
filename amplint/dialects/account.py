"""Who does what in a training step over a framework, and where that was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

DUTIES: Mapping[str, str] = MappingProxyType(
    {
        "divides": "divides the loss by the window",
        "scales": "scales the loss",
        "unscales": "unscales before the clip",
        "gates": "gates step and zero_grad",
        "schedules": "steps the scheduler",
        "saves": "saves the scaler",
    }
)
"""What somebody has to do, by the name of its column."""


@dataclass(frozen=True)
class Account:
    """One way to use a framework: for each duty who does it, and the file and function that say so in a version."""

    framework: str
    version: str
    divides: tuple[str, str]
    scales: tuple[str, str]
    unscales: tuple[str, str]
    gates: tuple[str, str]
    schedules: tuple[str, str]
    saves: tuple[str, str]


def table(accounts: Iterable[Account]) -> str:
    """The accounts as a table of Markdown: a row for each, a column for each duty."""
    rows = [["framework", *DUTIES.values()], ["---"] * (1 + len(DUTIES))]
    for account in accounts:
        cells = [f"{who}<br>*{where}*" for who, where in (getattr(account, duty) for duty in DUTIES)]
        rows.append([f"{account.framework}<br>{account.version}", *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
