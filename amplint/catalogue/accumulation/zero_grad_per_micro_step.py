"""Gradients are erased on every micro-step though the step is gated."""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="gradients are erased on every micro-step though the optimizer steps once per window: only the last "
    "micro-batch of each window counts",
    advice="zero the gradients once per window, after the optimizer's step",
    when=(Condition(STEPS, lost=at_least(1), micro_steps=1, steps=at_least(1)),),
    place=Kind.ZERO_GRAD,
    because=((Kind.BACKWARD, "what this made is erased"),),
    hides=("dropped-tail-window",),
)
