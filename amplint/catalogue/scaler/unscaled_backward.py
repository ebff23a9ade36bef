"""`scaler.step()` consumes gradients of a loss that was never scaled."""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads, Stage

RULE = Rule(
    tier=Tier.ERROR,
    message="the loss is back-propagated without its scale, but the scaler divides the gradients by the scale: "
    "every update is up to 65536 times too small",
    advice="back-propagate `scaler.scale(loss)`",
    when=(
        Condition(
            {Kind.UNSCALE, Kind.SCALER_STEP},
            grads=Grads.PLAIN,
            stage=Stage.READY,
            crossed=False,
            micro_steps=at_least(1),
        ),
    ),
    place=Kind.BACKWARD,
)
