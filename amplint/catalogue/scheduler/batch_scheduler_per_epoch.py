"""A schedule that lasts as many steps as there are updates is stepped once per epoch.

## What happens

`OneCycleLR` begins at a 25th of the peak, rises for a third of its steps and then falls; the schedules of
transformers begin at 0 and rise during the warm-up. With a horizon of `epochs * len(loader)` and one step per
epoch the run is over after the first few of thousands of steps: all of it is trained with the learning rate of
the warm-up's beginning.

## Why it is easy to miss

Most older schedulers (StepLR, MultiStepLR) are stepped at the end of an epoch, and so the call stands there
already. The loss falls, slowly.

## Example

```python bad
batches = torch.utils.data.DataLoader(loader, batch_size=None)
one_cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, steps_per_epoch=len(batches), epochs=epochs)
for epoch in range(epochs):
    for x, y in batches:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    one_cycle.step()  # expect: batch-scheduler-per-epoch
```

```python good
batches = torch.utils.data.DataLoader(loader, batch_size=None)
one_cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, steps_per_epoch=len(batches), epochs=epochs)
for epoch in range(epochs):
    for x, y in batches:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        one_cycle.step()
```

A cycle whose horizon is the number of epochs is right at the end of an epoch:

```python good
batches = torch.utils.data.DataLoader(loader, batch_size=None)
one_cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=epochs + 1)
for epoch in range(epochs):
    for x, y in batches:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    one_cycle.step()
```

## What to do

Call `scheduler.step()` after every `optimizer.step()`. With accumulation the horizon counts updates:
`steps_per_epoch=math.ceil(len(loader) / accum_steps)`.

## Fix

Unsafe: steps after every step of the optimizer. The learning rate then runs through its schedule as many times
faster as an epoch has updates.

## Source

- OneCycleLR: "step should be called after a batch has been used for training"
  (https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.OneCycleLR.html), torch 2.13
- `transformers/optimization.py` of transformers 5.23
"""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.horizons import handed_over_per_epoch, per_epoch_though_in_batches, unit_words
from amplint.catalogue.remedy import SKIPPED, Move, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the schedule's horizon counts {counts}, but it is stepped once per epoch: the whole run is trained with "
    "the learning rate of its first few steps",
    advice="{cure}",
    when=(Condition(Kind.END, cadence_steps=at_least(2), also=per_epoch_though_in_batches),),
    place=Kind.SCHEDULER_STEP,
    because=((Kind.CREATE, "the horizon is given here"),),
    words=unit_words,
    find=handed_over_per_epoch,
    needs_every_path=False,
    remedy=unsafe(
        "step the scheduler after every step of the optimizer",
        Move(Kind.SCHEDULER_STEP, after=(Kind.UPDATE, Kind.SCALER_STEP, Kind.STEP), inside=True),
        reveals=SKIPPED,
    ),
)
