"""What is told otherwise after a rewrite, by rewrite and rule, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """Why something is told otherwise, and a page whose programs show it: of a rule, or of the cases."""

    why: str
    where: str


_UNREAD = "a file beside the program is read for what happens in the step, not for what a framework does in it"
LOST: dict[tuple[str, str], Reason] = {
    ("micro-step in another file", "gated-framework-step"): Reason(_UNREAD, "gated-framework-step"),
    ("micro-step in another file", "missing-accumulate-context"): Reason(_UNREAD, "missing-accumulate-context"),
}
TOLD: dict[tuple[str, str], Reason] = {}
