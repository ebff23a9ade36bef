"""The first update comes after a single micro-batch."""

from amplint.catalogue.amounts import after_a_short_first, at_least, in_the_first_epoch, window_words
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS

RULE = Rule(
    tier=Tier.ERROR,
    message="the gate is open on the very first micro-batch: the first update is made from one micro-batch instead of {n}",
    advice="test `(step + 1) % {n} == 0`",
    when=(Condition(STEPS, micro_steps=at_least(2), also=after_a_short_first),),
    at_gate=True,
    milder=in_the_first_epoch,
    words=window_words,
)
