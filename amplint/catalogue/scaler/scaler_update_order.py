"""`scaler.update()` runs before the step that the gradients belong to."""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="`scaler.update()` runs before the step that these gradients belong to: they are divided by a scale that "
    "is not the one they were multiplied by, and an overflow is looked for too late",
    advice="call `scaler.update()` after the last `scaler.step()` of the iteration",
    when=(Condition({Kind.UNSCALE, Kind.SCALER_STEP}, crossed=True),),
    place=Kind.UPDATE,
    hides=("missing-scaler-update", "unscaled-backward", "unscale-after-step"),
    because=((Kind.BACKWARD, "gradients are made under the old scale here"),),
)
