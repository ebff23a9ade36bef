"""What is told otherwise after a rewrite, by rewrite and rule, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reason:
    """Why something is told otherwise, and a page whose programs show it: of a rule, or of the cases."""

    why: str
    where: str


_UNREAD = "a file beside the program is read for what happens in the step, not for what a framework does in it"
_OWN_TEXT = "what a file casts is read in its own text, not in the files beside it"
_UNSEEN = "what is called in the loop and not seen through may step"
_SPELLED = "the name is all that tells what it is"
_WRAPPED = "that a model is sharded is told by one place of the text, and the clip stands in a function of its own"
_TOGETHER = "steps that one call into another file makes are taken for meant together"
_HOOK = "a framework's hook is read as far as its own text goes"

_FILES = ("step in another file", "backward in another file", "micro-step in another file")


def _entries(rewrites: tuple[str, ...], rule: str, why: str) -> dict[tuple[str, str], Reason]:
    return {(rewrite, rule): Reason(why, rule) for rewrite in rewrites}


LOST: dict[tuple[str, str], Reason] = {
    **_entries(_FILES[1:], "gated-framework-step", _UNREAD),
    **_entries(_FILES[2:], "data-parallel-autocast", _UNREAD),
    **_entries(_FILES[2:], "averaged-twice-across-ranks", _UNREAD),
    **_entries(_FILES, "custom-function-in-autocast", _OWN_TEXT),
    **_entries(("step in another file",), "repeated-scheduler-step", _TOGETHER),
    **_entries(("through a generator", "callbacks between"), "missing-step", _UNSEEN),
    **_entries(("a timer that steps", "a logger that steps"), "missing-step", _UNSEEN),
    **_entries(("clip in a function", "clip in a method", "clip in another file"), "clip-before-backward", _HOOK),
    **_entries(("step in a method", "step given a dataclass", "step in another file"), "fsdp-local-clip", _WRAPPED),
    **_entries(("clip in a method", "clip in another file"), "fsdp-local-clip", _WRAPPED),
    **_entries(("micro-step in a method", *_FILES[1:]), "fsdp-local-clip", _WRAPPED),
    **_entries(("variables renamed",), "closure-with-scaler", _SPELLED),
    **_entries(("variables renamed",), "unchecked-manual-scale", _SPELLED),
    **_entries(("variables renamed", "loss in a tuple"), "metric-as-epoch", _SPELLED),
    **_entries(("variables renamed",), "scaler-without-autocast", _SPELLED),
    **_entries(("variables renamed",), "mean-of-token-means", _SPELLED),
    **_entries(("variables renamed",), "scheduler-per-micro-step", _SPELLED),
    **_entries(("variables renamed",), "local-token-normalization", _SPELLED),
    **_entries(("variables renamed",), "scaler-not-saved", _SPELLED),
    **_entries(("variables renamed",), "scaler-not-restored", _SPELLED),
    **_entries(("parameters renamed",), "averaged-twice-across-ranks", _SPELLED),
    **_entries(("parameters renamed",), "missing-accumulate-context", _SPELLED),
}
TOLD: dict[tuple[str, str], Reason] = {}
