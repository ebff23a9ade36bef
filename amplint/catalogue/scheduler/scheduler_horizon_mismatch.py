"""The scheduler's horizon is counted in another unit than the one in which it steps.

## What happens

`T_max`, `total_steps` and `num_training_steps` say after how many calls of `scheduler.step()` the schedule is
over. If they count micro-batches while the scheduler steps once per update, a run with windows of four ends when
a quarter of the schedule is done: the learning rate never comes down, and the warm-up takes four times as long.
If they count epochs while it steps on every batch, the schedule is over within the first few batches; a cosine
then rises again, and falls, and rises.

## Why it is easy to miss

Someone moves `scheduler.step()` under the gate and leaves `len(loader) * epochs` as it was. Nothing raises: only
OneCycleLR refuses to be stepped too often, and nobody refuses to be stepped too seldom.

## Example

```python bad
total = epochs * len(loader)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=total)  # expect: scheduler-horizon-mismatch
for epoch in range(epochs):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accum_steps
        loss.backward()
        if (i + 1) % accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
            cosine.step()
```

```python good
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(loader) // accum_steps)
for epoch in range(epochs):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accum_steps
        loss.backward()
        if (i + 1) % accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
            cosine.step()
```

A horizon in epochs goes with a step per epoch:

```python good
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
for epoch in range(epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    cosine.step()
```

The number of epochs belongs in the horizon of a step per batch once: `OneCycleLR(epochs=epochs,
steps_per_epoch=total)` with the steps of all epochs would take as many runs as there are epochs, and
`len(loader) // epochs` is over before the first epoch is.

Four numbers are of the right unit and wrong all the same, which is a warning: a loader with a `DistributedSampler`
holds one rank's share of the batches already; one that `accelerator.prepare` is about to share out still has those of
all processes; a schedule that `accelerator.prepare` has returned makes a step for each process at every update; and
`OneCycleLR` raises when the smaller batch at the end of an epoch was left out of its `total_steps`.

Megatron-Core's `OptimizerParamScheduler` is told by how much it moves on: `step(increment=4)` for each update goes with
an `lr_decay_steps` of four times as many.

## Messages

- "lr does not decay to 0", "warm-up takes N times too long"

## What to do

Count the horizon in the unit in which the scheduler steps: for a step per update
`math.ceil(len(loader) / accum_steps) * epochs` (the tail is an update too, where it is stepped), for a step per
epoch the number of epochs. Or move the step; but a schedule per micro-batch changes the learning rate while
gradients are being accumulated, to no effect.

## Fix

None. The horizon or the place of the step may be the wrong one, and the horizon is often computed elsewhere.

## Source

- `torch/optim/lr_scheduler.py` of torch 2.13: "T_max (int): Maximum number of iterations", each `step()` is one
  (https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingLR.html)
- `transformers/optimization.py` of transformers 5.23, `get_linear_schedule_with_warmup`: `current_step` counts the
  calls of `step()`
"""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.horizons import (
    amiss,
    by_hand_in_another_unit,
    handed_over_per_step,
    moved_past_its_end,
    moved_too_far,
    of_another_unit,
    uncounted,
    unit_words,
)
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="{argument} counts {counts}, but {moves} once per {steps}: {result}",
    advice="count it in {unit}",
    when=(
        Condition(Kind.END, cadence_steps=at_least(2), also=of_another_unit),
        Condition(Kind.END, told=at_least(2), also=by_hand_in_another_unit),
        Condition(Kind.END, cadence_steps=at_least(2), also=moved_past_its_end),
        Condition(Kind.SCHEDULER_STEP, cadence_steps=at_least(1), also=moved_too_far),
    ),
    place=Kind.CREATE,
    because=((Kind.SCHEDULER_STEP, "the scheduler steps here"),),
    milder=amiss,
    words=unit_words,
    find=handed_over_per_step,
    needs_every_path=False,
    undecided=uncounted,
)
