"""The scheduler steps although the scaler has skipped the update.

## What happens

When a gradient is not finite, `scaler.step(optimizer)` leaves the weights alone. A scheduler that steps after it all
the same goes on: the learning rate that was due for this update is used up without one. A few steps of thousands are
lost, most of them at the very beginning, where the scale is still being found: a short warm-up may lose a good part.

## Why it is easy to miss

Nobody sees which steps are skipped. torch warns of the wrong order of `scheduler.step()` and `optimizer.step()`, once,
and only if the very first step was skipped; then the order is right.

## Example

```python bad
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = 10 * criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    scheduler.step()  # expect: scheduler-on-skipped-step
```

```python good opt-in
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = 10 * criterion(model(x), y)
    scaler.scale(loss).backward()
    scale = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    if scaler.get_scale() >= scale:
        scheduler.step()
```

## Messages

- ``Detected call of `lr_scheduler.step()` before `optimizer.step()`.`` (UserWarning, when the first step was skipped)

## What to do

Step the scheduler only if the scale has not fallen in `scaler.update()`. `get_scale()` waits for the device; where that
is too dear, leave it and count the loss of a few steps in.

## Fix

None. It takes a variable to know whether the step was skipped, and skipped steps are few.

## Source

- Gradient scaling (https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling): the step is skipped if gradients
  hold infs or NaNs
- `torch/amp/grad_scaler.py` of torch 2.13, `_maybe_opt_step`
"""

from amplint.catalogue.horizons import after_a_skipped_step, skipped_words
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.WARNING,
    message="the scheduler steps although the scaler {has} the update: a value of the schedule passes unused",
    advice="step it only if `scaler.get_scale()` has not fallen in `scaler.update()`",
    when=(Condition(Kind.SCHEDULER_STEP, updates=lambda count: count > 0, also=after_a_skipped_step),),
    because=((Kind.STEP, "this step is skipped when a gradient is not finite"),),
    words=skipped_words,
    noisy_unrun=True,
)
