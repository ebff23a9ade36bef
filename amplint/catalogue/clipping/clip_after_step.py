"""Gradients are clipped after the optimizer has used them."""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads

RULE = Rule(
    tier=Tier.ERROR,
    message="gradients are clipped after the optimizer has used them: the clip has no effect",
    advice="clip between the backward and the optimizer's step",
    when=(
        Condition(Kind.CLIP, used=True, micro_steps=0, led_by_clip=False),
        Condition(Kind.CLIP, grads=Grads.NONE, steps=at_least(1), led_by_clip=False),
    ),
    because=((Kind.STEP, "the optimizer has stepped here"),),
)
