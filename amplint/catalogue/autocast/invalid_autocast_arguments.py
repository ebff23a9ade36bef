"""`autocast` is called with arguments that it does not take."""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.facts import Fact


_CUDA_ONLY = frozenset({"torch.cuda.amp.autocast", "torch.cuda.amp.autocast_mode.autocast"})
_ANY_DEVICE = frozenset({"torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast"})


def _invalid(fact: Fact) -> dict[str, str] | None:
    if fact.called in _CUDA_ONLY and "device_type" in fact.arguments:
        return {"called": fact.called, "why": "it is for CUDA alone and has no `device_type` (a TypeError)"}
    if fact.called in _ANY_DEVICE and fact.whole and not {0, "device_type"} & fact.arguments.keys():
        return {"called": fact.called, "why": "`device_type` is required (a TypeError)"}
    return None

RULE = Rule(
    tier=Tier.ERROR,
    message="`{called}` does not take these arguments: {why}",
    advice="write `torch.autocast(device_type=\"cuda\", dtype=...)`",
    find=_invalid,
)
