"""Gradients are never zeroed: those of all windows add up."""

from amplint.catalogue.amounts import at_least, ungated
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="gradients are never zeroed: every step uses the sum of all gradients since the run began",
    advice="call `optimizer.zero_grad()` after every step",
    when=(
        Condition(Kind.END, zeros=0, restacked=at_least(1)),
        Condition(Kind.ZERO_GRAD, restacked=at_least(3), also=ungated),
    ),
    place=Kind.BACKWARD,
    because=((Kind.STEP, "the step leaves the gradients as they are"),),
)
