"""`scaler.step()` on a path with no `scaler.update()` after it.

## What happens

Only `update()` changes the scale: it halves it after an overflow, doubles it after 2000 clean steps, and makes
the scaler ready for the next step. Without it the scale stays at 65536 for ever, and torch refuses the second
step. Where only one path has none, such as a `continue` after a loss that is not finite, the run ends at the
step after the first batch that takes it: exactly when the scale should have been halved.

## Why it is easy to miss

The first step works. A path that is taken on overflow only may wait for days.

## Example

```python bad static-only -- torch raises: step() has already been called since the last update().
for i, (x, y) in enumerate(loader):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y) / accum_steps
    scaler.scale(loss).backward()
    if (i + 1) % accum_steps == 0:
        scaler.step(optimizer)  # expect: missing-scaler-update
        optimizer.zero_grad()
```

```python good
for i, (x, y) in enumerate(loader):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y) / accum_steps
    scaler.scale(loss).backward()
    if (i + 1) % accum_steps == 0:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
```

```python bad static-only -- needs a batch that overflows
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # expect: missing-scaler-update
    if torch.isnan(loss):
        continue
    scaler.update()
```

## Messages

- `step() has already been called since the last update().` (RuntimeError)
- `unscale_() is being called after step().` (RuntimeError) where the next iteration unscales before it steps

## What to do

Call `scaler.update()` once per iteration in which the scaler stepped, after the last `scaler.step()`. It needs
no condition: it reads by itself whether the step was skipped. Do not call it on every micro-step
(`No inf checks were recorded prior to update.`), do not catch the RuntimeError, and do not make a new scaler
for every step, which throws the learnt scale away.

## Fix

Safe: calls `scaler.update()` after the last step. Without it the scale never changes, and a second `unscale_()`
raises. No number of a run changes.

## Source

- Gradient scaling (https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling)
- `torch/amp/grad_scaler.py` of torch 2.13, `step` and `update`
"""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.remedy import Insert, Move, safe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Stage

RULE = Rule(
    tier=Tier.ERROR,
    message="`scaler.step()` is not followed by `scaler.update()` before the next one: the scale never adapts, and "
    "torch raises at the second step",
    advice="call `scaler.update()` once after the last `scaler.step()` of every iteration",
    when=(
        Condition(Kind.SCALER_STEP, stage=Stage.STEPPED, used=False),
        Condition(Kind.SCALER_STEP, stage=Stage.STEPPED, micro_steps=at_least(1)),
        Condition(Kind.UNSCALE, stage=Stage.STEPPED, micro_steps=at_least(1)),
    ),
    place=Kind.SCALER_STEP,
    because=((Kind.UNSCALE, "the scaler still believes that the optimizer has stepped"),),
    hides=("repeated-unscale", "unscale-after-step"),
    needs_every_path=False,
    remedy=safe(
        "call `scaler.update()` after the last step",
        Insert(Kind.UPDATE, after=(Kind.SCALER_STEP,)),
        Move(Kind.UPDATE, after=(Kind.SCALER_STEP,)),
    ),
)
