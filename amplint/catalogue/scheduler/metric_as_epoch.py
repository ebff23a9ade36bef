"""A schedule that counts steps is handed a loss, or another metric.

## What happens

`ReduceLROnPlateau` alone wants a metric. All other schedules of torch take the argument of `step` for the number of the
epoch that they are to go to (it is deprecated, and works). A loss of 0.4 sends `CosineAnnealingLR` to epoch 0.4, where
it stays for the whole run, a bit before or after as the loss moves: the learning rate hardly changes, and rises as the
loss falls.

## Why it is easy to miss

It begins with a `ReduceLROnPlateau` that is exchanged for another schedule: the call still fits. torch warns of the
argument in general, once.

## Example

```python bad
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
for epoch in range(epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    schedule.step(loss.detach())  # expect: metric-as-epoch
```

```python good
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
for epoch in range(epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    schedule.step()
```

The one that wants it:

```python good
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
for epoch in range(epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    plateau.step(loss.detach())
```

## Messages

- ``The epoch parameter in `scheduler.step()` was not necessary and is being deprecated`` (UserWarning), for every
  argument that is no metric of a `ReduceLROnPlateau`

## What to do

Call `scheduler.step()`. Where several schedules can be chosen, ask `isinstance(scheduler, ReduceLROnPlateau)` and hand
the metric to that one alone.

## Fix

None: whether the schedule or the call is meant is not known.

## Source

- ReduceLROnPlateau (https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html)
- `torch/optim/lr_scheduler.py` of torch 2.13, `LRScheduler.step` (`epoch`), `ReduceLROnPlateau.step` (`metrics`)
"""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.cadence import METRIC
from amplint.protocol.events import Kind
from amplint.protocol.state import Moment


def _words(moment: Moment) -> dict[str, str]:
    return {"schedule": moment.event.detail[METRIC]}


RULE = Rule(
    tier=Tier.ERROR,
    message="{schedule} takes what it is given for the number of an epoch: a metric leaves the learning rate where it "
    "is, or moves it with the loss",
    advice="call `scheduler.step()`; `ReduceLROnPlateau` alone wants a metric",
    when=(Condition(Kind.SCHEDULER_TOLD, told=at_least(0), also=lambda moment: METRIC in moment.event.detail),),
    because=((Kind.CREATE, "the schedule is made here"),),
    words=_words,
    needs_every_path=False,
)
