"""A decay whose numbers are epochs is stepped on every batch.

## What happens

`StepLR(step_size=10, gamma=0.1)`, stepped per batch, divides the learning rate by ten every ten batches: after a
hundred batches nothing is left of it, and the rest of the run changes no weight. `ExponentialLR(gamma=0.95)` takes
450 batches for the same. `ReduceLROnPlateau` with a patience of ten compares the losses of single batches and takes
their noise for a plateau. `CosineAnnealingWarmRestarts(T_0=10)` begins anew every ten batches.

## Why it is easy to miss

The loss falls during the first batches and stays where it is, like that of a model that has converged.

## Example

```python bad
decay = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.1)
batches = torch.utils.data.DataLoader(loader, batch_size=None)
for epoch in range(epochs):
    for x, y in batches:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        decay.step()  # expect: epoch-scheduler-per-batch
```

```python good
decay = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.1)
batches = torch.utils.data.DataLoader(loader, batch_size=None)
for epoch in range(epochs):
    for x, y in batches:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    decay.step()
```

A decay that is given in batches is right on every batch:

```python good
decay = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2000, gamma=0.5)
batches = torch.utils.data.DataLoader(loader, batch_size=None)
for epoch in range(epochs):
    for x, y in batches:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        decay.step()
```

## What to do

Move `scheduler.step()` out of the loop over the batches, or give the numbers in updates. If the numbers are meant as
they are, say so with an ignore.

## Fix

Unsafe: steps at the end of the epoch. The learning rate then decays as many times slower as an epoch has
batches.

## Source

- How to adjust learning rate (https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate): the
  schedulers are stepped at the end of an epoch
- `torch/optim/lr_scheduler.py` of torch 2.13, `StepLR`, `MultiStepLR`, `ExponentialLR`, `ReduceLROnPlateau`,
  `CosineAnnealingWarmRestarts`
"""

from amplint.catalogue.horizons import meant_for_epochs, per_batch_though_in_epochs, step_words
from amplint.catalogue.remedy import Move, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the numbers of {schedule} are epochs, but it is stepped once per {steps}: the learning rate {result} "
    "within the first epoch",
    advice="step it at the end of the epoch, or give its numbers in updates",
    when=(Condition(Kind.END, meant="epochs", also=per_batch_though_in_epochs),),
    place=Kind.SCHEDULER_STEP,
    because=((Kind.CREATE, "its numbers are given here"),),
    words=step_words,
    find=meant_for_epochs,
    milder=lambda moment: Kind.CREATE not in moment.last or "bounded" in moment.last[Kind.CREATE].detail,
    refuted_by=lambda event: "outside" in event.detail,  # a program that does either knows when
    hides=("scheduler-per-micro-step",),
    remedy=unsafe(
        "step the scheduler at the end of the epoch",
        Move(Kind.SCHEDULER_STEP, after=(Kind.EPOCH_END,)),
    ),
)
