"""The gradients carry the loss scale, but the optimizer steps directly."""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads

RULE = Rule(
    tier=Tier.ERROR,
    message="the optimizer steps on gradients that still carry the loss scale: the update is as many times too large, "
    "and an overflow is not skipped",
    advice="step through the scaler: `scaler.step(optimizer)`, then `scaler.update()`",
    when=(Condition(Kind.STEP, grads={Grads.SCALED, Grads.MIXED}, micro_steps=at_least(1)),),
    because=((Kind.BACKWARD, "gradients get the loss scale here"),),
)
