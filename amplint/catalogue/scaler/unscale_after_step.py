"""`unscale_()` is called after `scaler.step()`.

## What happens

`scaler.step()` has already divided the gradients by the scale, looked for inf and NaN, and stepped. torch
raises at the `unscale_()` that follows. A clip that stands with it would come too late as well: the update has
been made from unclipped gradients.

## Why

Usually an unscale-and-clip block was inserted below the step instead of above it. It also looks plausible to
undo the scale "when done", but `.grad` is rebuilt from the next scaled loss, and `scaler.step()` unscales by
itself.

## Example

```python bad static-only -- torch raises: unscale_() is being called after step().
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.unscale_(optimizer)  # expect: unscale-after-step
    clip_grad_norm_(model.parameters(), 1.0)
    scaler.update()
```

```python good
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
```

## Messages

- `unscale_() is being called after step().` (RuntimeError). The same message appears in the second iteration
  when `scaler.update()` is missing: see `missing-scaler-update`.

## What to do

Order: `scaler.scale(loss).backward()`, `scaler.unscale_(optimizer)`, clip, `scaler.step(optimizer)`,
`scaler.update()`. Without a clip leave `unscale_()` out. To read true gradients after the step, just read them:
`scaler.step()` leaves them unscaled. Do not put `scaler.update()` between the step and `unscale_()`: that hides
the error, but torch then takes the next gradients for unscaled ones and steps on them 65536 times too large.

## Fix

Unsafe: moves `unscale_()`, and the clip that follows it, before the step. What is clipped there is used for the
first time: where the threshold bites, the updates become smaller.

## Source

- Working with unscaled gradients
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#working-with-unscaled-gradients)
- `torch/amp/grad_scaler.py` of torch 2.13, `unscale_`
"""

from amplint.catalogue.remedy import Delete, Move, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Stage

RULE = Rule(
    tier=Tier.ERROR,
    message="`unscale_()` comes after `scaler.step()`, which has already divided the gradients and used them: "
    "torch raises",
    advice="call `scaler.unscale_(optimizer)` before clipping, and clip before `scaler.step(optimizer)`",
    when=(Condition(Kind.UNSCALE, stage=Stage.STEPPED, micro_steps=0),),
    because=((Kind.SCALER_STEP, "the optimizer has stepped here"),),
    hides=("clip-after-step",),
    remedy=unsafe(
        "unscale before the step",
        Move(Kind.UNSCALE, before=(Kind.SCALER_STEP,), along=(Kind.CLIP,)),
        Move(Kind.UNSCALE, before=(Kind.CLIP,)),
        Delete(Kind.UNSCALE),
    ),
)
