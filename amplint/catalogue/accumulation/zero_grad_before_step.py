"""Gradients are erased between their backward and the step."""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind
from amplint.protocol.ledger import Grads

RULE = Rule(
    tier=Tier.ERROR,
    message="gradients are erased between their backward and the optimizer's step: what was erased never moves a weight",
    advice="zero the gradients after the step, or before the first backward of the window",
    when=(
        Condition(STEPS, lost=at_least(1), grads=Grads.NONE),
        Condition(STEPS, lost=at_least(1), micro_steps=at_least(2), steps=at_least(1)),
    ),
    place=Kind.ZERO_GRAD,
    because=((Kind.BACKWARD, "what this made is erased"),),
    hides=("dropped-tail-window",),
)
