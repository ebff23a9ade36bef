"""`unscale_()` is called after `scaler.step()`."""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Stage

RULE = Rule(
    tier=Tier.ERROR,
    message="`unscale_()` comes after `scaler.step()`, which has already divided the gradients and used them: torch raises",
    advice="call `scaler.unscale_(optimizer)` before clipping, and clip before `scaler.step(optimizer)`",
    when=(Condition(Kind.UNSCALE, stage=Stage.STEPPED, micro_steps=0),),
    because=((Kind.SCALER_STEP, "the optimizer has stepped here"),),
    hides=("clip-after-step",),
)
