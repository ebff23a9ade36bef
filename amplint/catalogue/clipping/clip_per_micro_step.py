"""Partly accumulated gradients are clipped on every micro-step."""

from amplint.catalogue.amounts import at_least, begins_micro_step
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="gradients are clipped on every micro-step, while they are only partly accumulated: what was clipped is "
    "added to and clipped again, so early micro-batches are weighted down",
    advice="clip once per window, on the micro-step on which the optimizer steps",
    when=(Condition(Kind.BACKWARD, clipped=True, micro_steps=at_least(1), also=begins_micro_step),),
    place=Kind.CLIP,
)
