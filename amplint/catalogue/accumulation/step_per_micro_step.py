"""The optimizer steps on every micro-step though a window is intended."""

from amplint.catalogue.amounts import at_least, divided_alone, gated, stepping_words
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the optimizer steps on every micro-step though the code is written for windows: gradients are {what}",
    advice="step only on the micro-step that completes the window",
    when=(
        Condition(Kind.ZERO_GRAD, restacked=at_least(2), also=gated),
        Condition(STEPS, micro_steps=1, lost=0, also=divided_alone),
    ),
    place=Kind.STEP,
    words=stepping_words,
    hides=("missing-zero-grad",),
)
