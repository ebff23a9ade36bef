"""The scheduler steps on every micro-step."""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the scheduler steps on every micro-step, the optimizer once per window: the learning rate moves through its "
    "schedule as many times too fast",
    advice="step the scheduler where the optimizer steps",
    when=(
        Condition(
            Kind.SCHEDULER_STEP, idle=at_least(1), cadence_steps=at_least(1), updates=at_least(1), unit={None, "updates"}
        ),
    ),
    because=((Kind.STEP, "the optimizer last stepped here"),),
    hides=("scheduler-before-optimizer",),
)
