"""The loss is divided after it has been back-propagated."""

from amplint.catalogue.amounts import undivided, window_words
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the loss is divided by {n} only after its backward: the gradients were made from the undivided loss and are "
    "{n} times too large",
    advice="divide the loss by {n} before its backward",
    when=(Condition(STEPS, late=True, also=undivided),),
    place=Kind.BACKWARD,
    because=((Kind.LOSS_DIVIDED, "the division comes too late here"),),
    words=window_words,
    hides=("missing-loss-division",),
)
