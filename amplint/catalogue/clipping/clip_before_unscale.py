"""Gradients are clipped while they still carry the loss scale."""

from amplint.catalogue.amounts import at_least, takes_out_a_scale
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads

RULE = Rule(
    tier=Tier.ERROR,
    message="gradients are clipped while they still carry the loss scale: the effective threshold is the written one "
    "divided by the scale (1/65536 of it at the start), so nearly every gradient is shrunk to the same tiny norm",
    advice="call `scaler.unscale_(optimizer)` before clipping",
    when=(
        Condition(Kind.CLIP, grads={Grads.SCALED, Grads.MIXED}, micro_steps=at_least(1)),
        Condition(Kind.DIVIDE, clipped=True, micro_steps=at_least(1), also=takes_out_a_scale),
    ),
    place=Kind.CLIP,
    because=((Kind.BACKWARD, "gradients get the loss scale here"),),
)
