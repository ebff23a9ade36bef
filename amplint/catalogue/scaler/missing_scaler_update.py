"""`scaler.step()` on a path with no `scaler.update()` after it."""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Stage

RULE = Rule(
    tier=Tier.ERROR,
    message="`scaler.step()` is not followed by `scaler.update()` before the next one: the scale never adapts, and "
    "torch raises at the second step",
    advice="call `scaler.update()` once after the last `scaler.step()` of every iteration",
    when=(
        Condition(Kind.SCALER_STEP, stage=Stage.STEPPED),
        Condition(Kind.UNSCALE, stage=Stage.STEPPED, micro_steps=at_least(1)),
    ),
    place=Kind.SCALER_STEP,
    hides=("repeated-unscale", "unscale-after-step"),
    needs_every_path=False,
)
