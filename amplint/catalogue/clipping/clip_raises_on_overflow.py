"""The clip raises on the first overflow, which the loss scaler would have handled.

## What happens

A GradScaler looks for the largest scale that does not overflow by overflowing now and then: such a step has infinite
gradients, is skipped, and the scale is halved. With `error_if_nonfinite=True` the clip that comes before raises a
RuntimeError there, and the run ends, as a rule within its first steps: the initial scale of 65536 is meant to be too
high.

## Why it is easy to miss

In float32 and bfloat16, where nothing overflows in a healthy run, the flag is a good safeguard. A short test run may
see no overflow; with the default growth interval another is due every 2000 steps or so.

## Example

```python bad
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)  # expect: clip-raises-on-overflow
    scaler.step(optimizer)
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

Without a scaler the flag does what it is for:

```python good
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
    optimizer.step()
```

## Messages

- `The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be clipped.` (RuntimeError)

## What to do

Leave the flag at False: the scaler finds the infinity by itself, and skips the step. To stop a run that has diverged,
count the steps that were skipped in a row, or look at `scaler.get_scale()`.

## Fix

Unsafe: takes the argument out. A gradient that is not finite for another reason than the scale no longer ends
the run either; the scaler skips its step.

## Source

- `torch/nn/utils/clip_grad.py` of torch 2.13, `get_total_norm`
- Gradient scaling (https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling)
"""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.remedy import DropArgument, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Stage
from amplint.protocol.state import Moment


def _raises(moment: Moment) -> bool:
    return moment.event.detail.get("raises") == "yes"


RULE = Rule(
    tier=Tier.WARNING,
    message="the loss scaler overflows now and then to find its scale, and skips that step; this clip raises instead "
    "and ends the run at the first overflow",
    advice="leave `error_if_nonfinite` at False: the scaler skips the step by itself",
    when=(Condition({Kind.CLIP, Kind.NORM}, stage=Stage.UNSCALED, micro_steps=at_least(1), also=_raises),),
    because=((Kind.UNSCALE, "the gradients of a scaled loss are unscaled here, infinite ones included"),),
    remedy=unsafe(
        "leave `error_if_nonfinite` at False",
        DropArgument("error_if_nonfinite"),
    ),
)
