"""The last partial window of an epoch is lost, or leaks into the next epoch."""

from amplint.catalogue.amounts import at_least, longer_than_before, not_on_purpose, tail_words
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.WARNING,
    message="micro-batches that are left over at the end of an epoch are {what}",
    advice="step on the last batch too, and divide by the number of micro-batches that it really holds",
    when=(
        Condition(Kind.ZERO_GRAD, tail=at_least(1), also=not_on_purpose),
        Condition(STEPS, tail=at_least(1), also=longer_than_before),
    ),
    place=Kind.STEP,
    at_gate=True,
    words=tail_words,
)
