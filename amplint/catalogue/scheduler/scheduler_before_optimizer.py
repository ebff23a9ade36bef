"""The scheduler steps before the optimizer in the same cycle."""

from amplint.catalogue.amounts import at_least, leads_again
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the scheduler steps before the optimizer: the first value of the schedule is never used",
    advice="call `optimizer.step()` before `scheduler.step()`",
    when=(
        Condition(STEPS, updates=0, lead=1, pending=True),
        Condition(Kind.SCHEDULER_STEP, lead=1, updates=at_least(1), also=leads_again),
    ),
    place=Kind.SCHEDULER_STEP,
    because=((Kind.BACKWARD, "the gradients that are waiting for the optimizer's step"),),
)
