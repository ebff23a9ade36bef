"""The result of `scaler.scale(loss)` is not used."""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="`scaler.scale(loss)` returns the scaled loss and leaves `loss` as it was: the result is thrown away",
    advice="back-propagate the result: `scaler.scale(loss).backward()`",
    when=(Condition(Kind.DISCARD),),
    hides=("unscaled-backward",),
)
