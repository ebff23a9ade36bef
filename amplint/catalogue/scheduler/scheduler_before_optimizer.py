"""The scheduler steps before the optimizer in the same cycle.

## What happens

A scheduler sets the first learning rate when it is made; each `step()` goes on to the next. If it goes first,
the first value of the schedule is never used and everything comes one step early. For a schedule per update
that is one step of thousands; for StepLR at the top of each epoch with `step_size=1, gamma=0.5` the whole first
epoch runs at half the learning rate.

## Why it is easy to miss

It was the right order before PyTorch 1.1, and old code and tutorials still have it. torch warns once, at the
first call.

## Example

```python bad
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    scheduler.step()  # expect: scheduler-before-optimizer
    optimizer.step()
```

```python good
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    scheduler.step()
```

A scheduler that is told its absolute position may go first:

```python good
restarts = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=1)
for epoch in range(epochs):
    for i, (x, y) in enumerate(loader):
        restarts.step(epoch + i / len(loader))
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
```

## Messages

- ``Detected call of `lr_scheduler.step()` before `optimizer.step()`.`` (UserWarning). It also appears when a
  GradScaler skips the very first step for an overflow: then the order is right, and one value of the schedule
  passes unused.

## What to do

Call `scheduler.step()` after `optimizer.step()` or `scaler.step(optimizer)`; a schedule per epoch at the
epoch's end. Do not silence the warning with a dummy `optimizer.step()` before the loop, nor with a filter. To
keep the schedule in step with a scaler that skips, call it only if `scaler.get_scale()` did not fall in
`scaler.update()`.

## Fix

Unsafe: moves the scheduler's step behind the optimizer's. Each update is made under the learning rate that the
schedule has for it, beginning with the first.

It is a warning where nobody saw the schedule being made: a class of another make may set the rate of the update to
come in its `step()`. It is a warning, too, for a schedule whose first value holds for several steps, such as StepLR:
each of its changes comes one step early.

## Source

- How to adjust learning rate (https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate)
- `torch/optim/lr_scheduler.py` of torch 2.13, `LRScheduler.step`
"""

from amplint.catalogue.amounts import at_least, leads_again
from amplint.catalogue.remedy import Move, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.cadence import HOLDS
from amplint.protocol.events import STEPS, Event, Kind
from amplint.protocol.state import Moment


def _made(moment: Moment) -> Event | None:
    """Where the schedule was made, if that was seen: else its class may set the rate of the step to come."""
    return moment.last.get(Kind.CREATE)


def _hardly_felt(moment: Moment) -> bool:
    """Whether nothing is known of the schedule, or its first value holds for more than the step that it loses."""
    made = _made(moment)
    return made is None or HOLDS in made.detail


def _from_the_first_epoch(moment: Moment) -> bool:
    """Whether no epochs have passed of which nothing was seen."""
    return "late" not in moment.last[Kind.SCHEDULER_STEP].detail


def _again_from_the_first_epoch(moment: Moment) -> bool:
    return leads_again(moment) and _from_the_first_epoch(moment) and not _is_written_after(moment)


def _is_written_after(moment: Moment) -> bool:
    """Whether the scheduler's step stands behind the optimizer's where both are written or called: then it came first
    only because nothing was trained yet, as where an agent gathers experience before it learns."""
    return any(_follows(moment.event, moment.last[kind]) for kind in STEPS if kind in moment.last)


def _follows(event: Event, other: Event) -> bool:
    """Whether an event stands behind another one, in the first function in which their ways part."""
    ways = zip(event.step_of_program, other.step_of_program, strict=False)
    own, its = next((pair for pair in ways if pair[0] != pair[1]), (event.site, other.site))
    return own.path == its.path and own.row > its.row


def _words(moment: Moment) -> dict[str, str]:
    made = _made(moment)
    if made is None:
        return {"what": "the first value of the schedule is never used, if it is one of torch's"}
    if HOLDS in made.detail:
        return {"what": "every change of the learning rate comes one step early"}
    return {"what": "the first value of the schedule is never used"}


RULE = Rule(
    tier=Tier.ERROR,
    message="the scheduler steps before the optimizer: {what}",
    advice="call `optimizer.step()` before `scheduler.step()`",
    when=(
        Condition(STEPS, updates=0, lead=1, pending=True, also=_from_the_first_epoch),
        Condition(Kind.SCHEDULER_STEP, lead=1, updates=at_least(1), also=_again_from_the_first_epoch),
    ),
    place=Kind.SCHEDULER_STEP,
    because=((Kind.BACKWARD, "the gradients that are waiting for the optimizer's step"),),
    words=_words,
    milder=_hardly_felt,
    remedy=unsafe(
        "step the scheduler after the optimizer",
        Move(Kind.SCHEDULER_STEP, after=(Kind.UPDATE, Kind.SCALER_STEP, Kind.STEP)),
    ),
)
