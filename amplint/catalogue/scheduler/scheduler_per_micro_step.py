"""The scheduler steps on every micro-step, the optimizer once per window.

## What happens

The learning rate moves through its schedule N times too fast. With windows of four a warm-up of 1000 updates is
over after 250, and a decay planned for the whole run reaches its end after a quarter of it; the rest is trained
with the final learning rate, often zero. A cosine with `T_max` in updates rises again after that, and falls,
and rises.

## Why it is easy to miss

With `accum_steps = 1` it is right. The loss curve looks like that of a schedule chosen badly.

## Example

```python bad
updates = epochs * len(loader) // accum_steps
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=updates)
for epoch in range(epochs):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accum_steps
        loss.backward()
        if (i + 1) % accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
        cosine.step()  # expect: scheduler-per-micro-step
```

```python good
updates = epochs * len(loader) // accum_steps
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=updates)
for epoch in range(epochs):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accum_steps
        loss.backward()
        if (i + 1) % accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
            cosine.step()
```

A horizon in micro-batches, stepped per micro-batch, is consistent:

```python good
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(loader))
for epoch in range(epochs):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accum_steps
        loss.backward()
        if (i + 1) % accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
        cosine.step()
```

## Messages

- `Tried to step 5 times. The specified number of total steps is 4` (ValueError of OneCycleLR, with your
  numbers)
- ``Detected call of `lr_scheduler.step()` before `optimizer.step()`.`` (UserWarning, on the first micro-step)

## What to do

Step the scheduler under the gate, after the optimizer. Then look at the horizon: if it counts micro-batches,
divide it by the window too, else the schedule is N times too slow ("the learning rate does not decay to 0"). Do
not move only half: scheduler and horizon count in the same unit. Multiplying `total_steps` until the ValueError
stops hides the mistake.

A horizon that says what it counts makes it an error. It is a warning where nobody can tell: where the schedule or its
horizon is handed in, or is a mere number, which may well count micro-batches.

## Fix

Unsafe: steps the scheduler where the optimizer steps. The schedule becomes as many times longer as the window
has micro-steps.

## Source

- How to adjust learning rate (https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate)
- `torch/optim/lr_scheduler.py` of torch 2.13
"""

from amplint.catalogue.amounts import at_least, runs_ahead
from amplint.catalogue.remedy import Move, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.cadence import MICRO_BATCHES
from amplint.protocol.events import Kind
from amplint.protocol.state import Moment


def _times(moment: Moment) -> dict[str, str]:
    """How many micro-steps the window has, where that is written."""
    step = moment.last.get(Kind.STEP)
    length = step.gate.length if step is not None and step.gate is not None else None
    return {"times": f"{length or 'as many'} times"}


def _of_no_known_unit(moment: Moment) -> bool:
    """Whether nobody can tell what the schedule counts: it, or its horizon, comes from elsewhere, or is a number."""
    made, cadence = moment.last.get(Kind.CREATE), moment.cadence
    if cadence.unit is not None or cadence.horizon is not None:
        return False
    return made is None or "argument" in made.detail


def _runs_ahead(moment: Moment) -> bool:
    """Whether the scheduler steps more often than its optimizer: one step before an update, and one after the last, do
    not."""
    return moment.cadence.cadence_steps > moment.cadence.updates and runs_ahead(moment)


RULE = Rule(
    tier=Tier.ERROR,
    message="the scheduler steps on every micro-step, the optimizer once per window: the learning rate moves through "
    "its schedule {times} too fast",
    advice="step the scheduler where the optimizer steps",
    when=(
        Condition(
            Kind.SCHEDULER_STEP,
            idle=at_least(1),
            cadence_steps=at_least(1),
            updates=at_least(1),
            unit={None, "updates"},
            also=_runs_ahead,
        ),
    ),
    words=_times,
    milder=_of_no_known_unit,
    because=((Kind.STEP, "the optimizer last stepped here"),),
    hides=("scheduler-before-optimizer",),
    refuted_by=lambda event: event.kind is Kind.CREATE and event.detail.get("unit") == MICRO_BATCHES,
    remedy=unsafe(
        "step the scheduler where the optimizer steps: the schedule becomes {times} longer",
        Move(Kind.SCHEDULER_STEP, after=(Kind.UPDATE, Kind.SCALER_STEP, Kind.STEP), inside=True),
        Move(Kind.SCHEDULER_STEP, after=(Kind.UPDATE, Kind.SCALER_STEP, Kind.STEP)),
    ),
)
