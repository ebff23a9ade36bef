"""Why a run in which nothing wrong was found may prove nothing: what is off, and steps that could not be followed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from runtime_guard.tally import Tally


class NothingChecked(Exception):
    """Raised in mode `raise` at the end of a run that the guard could not check."""


def unfollowed(tally: Tally) -> list[str]:
    """A sentence for each optimizer that has taken more steps on gradients of unknown origin than on those that a
    backward pass was seen to leave."""
    return [
        f"{count} step{'s'[: count != 1]} of {_kind(tally, name)}, on gradients that no backward pass has left there: "
        "nothing is known of their windows, weights and scale"
        for name, count in sorted(tally.unfollowed.items())
        if count > tally.followed[name]
    ]


def copies(tally: Tally, names: Iterable[str]) -> list[str]:
    """A sentence for each optimizer that steps copies of what backward passes fill."""
    return [
        f"{_kind(tally, name)} steps copies of the model's parameters: what becomes of the gradients on their way into "
        "the copies (a loss scale, a division, a clip) is not seen"
        for name in names
        if tally.followed[name]
    ]


def _kind(tally: Tally, name: str) -> str:
    """`AdamW#1` for `optimizer#1`."""
    return name.replace("optimizer", tally.optimizers.get(name, "optimizer"), 1)


def why_unchecked(off: Sequence[str], unfollowed: Sequence[str], windows: int, steps: int) -> str | None:
    """Why nothing is proven by a run without findings, in one sentence; None where it proves something."""
    if off:
        return f"a part of the guard is off: {off[0]}"
    if unfollowed:
        return f"what was stepped could not be checked: {'; '.join(unfollowed)}"
    if windows:
        return None
    if steps:
        return f"nothing was checked: no gradient was there at the {steps} optimizer step{'s'[: steps != 1]} seen"
    return "nothing was checked: no optimizer step was seen"


def of_report(report: Mapping[str, Any]) -> str | None:
    """The same of a report, or of several that were joined."""
    return why_unchecked(report["off"], report["unfollowed"], report["windows"]["count"], report["steps"])
