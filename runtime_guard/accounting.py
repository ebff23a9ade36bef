"""What has become of the backward passes of each optimizer: stepped with, erased before any step, or left over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime_guard.tally import Tally

MOST = 4
"""So many optimizers are told one by one; of more the passes are told together."""

Accounts = Sequence[Mapping[str, Any]]


def accounts(tally: Tally) -> list[dict[str, Any]]:
    """The passes of each optimizer, and `silent`: how many have come since a step that ought to have come again."""
    return [
        {
            "optimizer": name.replace("optimizer", tally.optimizers.get(name, "optimizer"), 1),
            "passes": passes,
            "stepped": tally.used[name],
            "erased": tally.erased[name],
            "pending": tally.pending[name],
            "silent": tally.since[name] if tally.since[name] > tally.most[name] > 0 else 0,
        }
        for name, passes in sorted(tally.passes.items())
        if name not in tally.inner
    ]


def wasted(found: Accounts) -> bool:
    """Whether most passes of an optimizer that steps were for nothing."""
    return any(one["stepped"] and one["erased"] + one["pending"] > one["stepped"] for one in found)


def line(found: Accounts) -> str:
    """All of them in one line."""
    if len(found) > MOST:
        names = ("passes", "stepped", "erased", "pending", "silent")
        found = [{"optimizer": f"{len(found)} optimizers", **{name: sum(one[name] for one in found) for name in names}}]
    return f"backward passes: {'; '.join(map(_told, found))}"


def _told(one: Mapping[str, Any]) -> str:
    parts = [f"{one['erased']} erased before a step"] if one["erased"] else []
    parts += [f"{one['pending']} left over"] if one["pending"] else []
    how = ", ".join([f"{one['stepped']} stepped with", *parts]) if parts else "all stepped with"
    silent = f"; no step in the last {one['silent']}" if one["silent"] else ""
    return f"{one['passes']} of {one['optimizer']} ({how}{silent})"
