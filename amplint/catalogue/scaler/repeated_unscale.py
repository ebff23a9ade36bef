"""`unscale_()` is called twice for one optimizer between two updates."""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Stage

RULE = Rule(
    tier=Tier.ERROR,
    message="`unscale_()` is called again for this optimizer before `scaler.update()`: torch raises, because the "
    "gradients would be divided by the scale twice",
    advice="call `unscale_()` once per window, on the micro-step on which the optimizer steps",
    when=(Condition(Kind.UNSCALE, stage=Stage.UNSCALED),),
    because=((Kind.UNSCALE, "already unscaled here"),),
    hides=("clip-per-micro-step", "clip-before-unscale"),
    needs_every_path=False,
)
