"""Gradients are clipped before the backward that makes them."""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads

RULE = Rule(
    tier=Tier.ERROR,
    message="gradients are clipped before the backward that makes them: the clip meets none, or what the last window "
    "left, and the new gradients are stepped unclipped",
    advice="clip between the backward and the optimizer's step",
    when=(
        Condition(Kind.CLIP, fresh=True, grads=Grads.NONE),
        Condition(Kind.CLIP, led_by_clip=True, used=True, micro_steps=0),
        Condition(Kind.CLIP, led_by_clip=True, grads=Grads.NONE),
    ),
    hides=("clip-after-step", "clip-per-micro-step"),
)
