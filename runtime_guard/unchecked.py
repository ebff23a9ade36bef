"""Why a run in which nothing wrong was found may prove nothing: what is off, and steps that could not be followed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from runtime_guard.held import Held
from runtime_guard.tally import Tally

if TYPE_CHECKING:
    from runtime_guard.gradients import Watch


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


def copies(tally: Tally, watches: Mapping[str, Watch], measured: Collection[str]) -> list[str]:
    """A sentence for each optimizer of which it is not known what becomes of the gradients before they are stepped.
    `measured`: those of which it was measured, perhaps on a device."""
    told = ((name, _unknown(watch, name in measured)) for name, watch in watches.items() if tally.followed[name])
    return [f"{_kind(tally, name)} steps {unknown}" for name, unknown in told if unknown is not None]


def _unknown(watch: Watch, measured: bool) -> str | None:
    """What is not known of what an optimizer steps."""
    known, other = watch.looks.total() - watch.looks[Held.OTHER], watch.looks[Held.OTHER]
    if other:
        return (
            f"what is no sum of the gradients of its window, in {other} of the {known + other} windows looked at "
            "(those of other windows may be in it, or of other ranks): nothing is known of the weight there"
        )
    if known or measured or not (watch.exchanged or watch.gathered):
        return None
    what = "copies of the model's parameters" if watch.exchanged else "gradients that are gathered elsewhere"
    return (
        f"{what}: what becomes of the gradients on their way there (a loss scale, a division, a clip, an erasure) is "
        "not seen"
    )


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
