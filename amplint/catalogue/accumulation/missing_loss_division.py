"""The loss is not divided by the number of accumulated micro-batches."""

from amplint.catalogue.amounts import hardly_felt, undivided, window_words
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the loss of each of the {n} accumulated micro-batches is added whole: the gradient is {n} times that of "
    "the equivalent batch{consequence}",
    advice="divide the loss by {n} before its backward",
    when=(Condition(STEPS, late=False, also=undivided),),
    place=Kind.BACKWARD,
    because=((Kind.BACKWARD, "an undivided mean is added here"),),
    milder=hardly_felt,
    words=window_words,
)
