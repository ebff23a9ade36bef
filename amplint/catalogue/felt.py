"""What an optimizer makes of a gradient that is too large by a constant factor."""

from __future__ import annotations

from amplint.protocol.events import Kind
from amplint.protocol.state import Moment

_ADAPTIVE = frozenset(
    """Adam Adamax NAdam RAdam RMSprop Adagrad Adadelta Adam8bit PagedAdam8bit FusedAdam DeepSpeedCPUAdam""".split()
)
_DECOUPLED = frozenset({"AdamW", "AdamW8bit", "PagedAdamW8bit", "PagedAdamW", "Lion", "Lion8bit"})


def hardly_felt(moment: Moment) -> bool:
    """Whether the optimizer is known not to feel a constant factor: it is adaptive, or its rate divided instead."""
    algorithm = moment.ledger.algorithm
    if _clipped(moment) or algorithm is None:
        return False
    created = moment.last.get(Kind.CREATE)
    said = created.detail if created is not None else {}
    return algorithm in _DECOUPLED or "slower" in said or (algorithm in _ADAPTIVE and said.get("decays") != "yes")


def _clipped(moment: Moment) -> bool:
    """Whether gradients are clipped: by a call, or in the framework's step."""
    return Kind.CLIP in moment.last or moment.event.detail.get("clips") == "yes"


def consequence(moment: Moment) -> str:
    """What such a gradient does to the steps, as a part of a sentence."""
    if hardly_felt(moment):
        engine = moment.event.detail.get("clips") == "perhaps"
        unless = "unless the engine clips" if engine else "as long as nothing is clipped or decayed with the gradient"
        hider = moment.last[Kind.CREATE].detail.get("slower", moment.ledger.algorithm)
        return f" ({hider} hides it {unless})"
    if _clipped(moment):
        return ", and with it the norm that the clip compares with its threshold"
    if moment.ledger.algorithm in _ADAPTIVE:
        return f" ({moment.ledger.algorithm} hides it, but not from its weight decay, which counts too little)"
    return ", and with it the step of SGD"
