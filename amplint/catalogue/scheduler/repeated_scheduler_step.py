"""The scheduler steps a second time for the same update.

## What happens

Two calls step one schedule between two updates. The learning rate moves through it twice as fast as it was made for: a
cosine over the whole training is at its end halfway, and what is left of the run trains at the lowest rate, or, where
the schedule is periodic, on its way up again. A warm-up is half as long.

## Why it is easy to miss

The curve of the learning rate has the right shape. The second call is often in another place: in a helper that steps
optimizer and schedule together, or behind the test whether the update was made.

## Example

```python bad
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / accum_steps
    loss.backward()
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        scheduler.step()  # expect: repeated-scheduler-step
```

```python good
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / accum_steps
    loss.backward()
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
```

Two schedules of one optimizer, and one that steps between two updates, are another matter:

```python good
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=4)
for x, y in loader:
    criterion(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
    scheduler.step()
    warmup.step()
```

## Messages

- no error; the learning rate that is logged reaches its end at half of the training

## What to do

Take one of the two calls out. Where the schedule counts something else than updates, step it by one call for each.

## Fix

None. Which of the calls was meant, the source does not say.

## Source

- `LRScheduler.step`: each call without an argument moves the schedule on by one
  (https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LRScheduler.html)
- `megatron/core/optimizer_param_scheduler.py` of megatron-core 0.16, `OptimizerParamScheduler.step`: adds `increment`
"""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Event, Kind
from amplint.protocol.state import Moment


def _stepped_elsewhere(moment: Moment) -> bool:
    """Whether another call of the loop has just stepped the schedule, as for the update before: neither now and then,
    nor by a framework that moves it on by itself."""
    before, now = moment.last[Kind.SCHEDULER_STEP], moment.event
    elsewhere = before.step_of_program != now.step_of_program and before.site != now.site
    return elsewhere and _always(before) and _always(now) and moment.cadence.doubled > moment.cadence.twice


def _always(event: Event) -> bool:
    return event.repeats and not {"moves", "sometimes", "still"} & event.detail.keys()


RULE = Rule(
    tier=Tier.ERROR,
    message="the scheduler has stepped for this update already: the learning rate moves through its schedule twice as "
    "fast",
    advice="step it once per update, and take one of the two calls out",
    when=(
        Condition(
            Kind.SCHEDULER_STEP,
            since={(0, 0, 0)},
            cadence_steps=at_least(1),
            updates=at_least(1),
            also=_stepped_elsewhere,
        ),
    ),
    because=((Kind.SCHEDULER_STEP, "it has stepped here, and no update was made since"),),
    hides=("scheduler-horizon-mismatch",),
)
