"""The loss scale has fallen below 1, or step after step is skipped.

## What happens

The scaler halves the scale whenever it finds inf or NaN in the gradients, and skips the step. If that goes on below
1, or for twenty steps in a row, no scale helps: the gradients are NaN before any scaling. No weight moves any more,
while the loop goes on. A scale below 1 makes small gradients vanish in float16 on top of it.

## Why it is easy to miss

A skipped step says nothing. The scheduler goes on, the logged loss is NaN or simply constant.

## Example

```python bad
broken, y = loader[0][0].clone(), loader[0][1]
broken[0] = float("nan")
for _ in range(24):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(broken), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()  # expect: collapsed-loss-scale
```

A batch now and then that overflows is what the scaler is for:

```python good
broken = loader[0][0].clone()
broken[0] = float("inf")
for i, (x, y) in enumerate(loader):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(broken if i == 4 else x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

## What to do

Look for the NaN, not at the scale: `torch.autograd.set_detect_anomaly(True)` for a few steps, the inputs, a division
by a norm that may be zero, a literal beyond 65504 in float16, a learning rate that is too high. Do not raise
`min_scale` or clamp the scale: the steps would be taken with NaN.

## Fix

None. It shows in a run: the model, not the scale, is at fault.

## Source

- Gradient scaling (https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling)
- `torch/amp/grad_scaler.py` of torch 2.13, `update`
"""

from amplint.catalogue.measures import collapsed
from amplint.catalogue.rule import Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.WARNING,
    message="{what}: the gradients are inf or NaN at any scale, and no weight moves",
    advice="look for the operation that makes inf or NaN; the scale is not at fault",
    observe=collapsed,
    reads=frozenset({Kind.UPDATE}),
    because=((Kind.BACKWARD, "the latest gradients are made here"),),
    hides=("high-initial-scale", "unrecovered-loss-scale"),
)
