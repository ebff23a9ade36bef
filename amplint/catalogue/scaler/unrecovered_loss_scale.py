"""The loss scale falls again and again and has not grown once.

## What happens

The scaler halves the scale whenever it finds inf or NaN, and doubles it after `growth_interval` steps in a row without
(2000 unless it is told otherwise). Where something overflows more often than that, the scale only falls: each time the
gradients are half as far above what float16 can hold, until the small ones are zero. What is lost by then says nothing.

## Why it is easy to miss

A step that is skipped now and then is what the scaler is for. That none of the halvings was ever made good shows in
the curve of the scale alone.

## Example

The interval is short here for the example's sake.

```python bad
grad_scaler = torch.amp.GradScaler("cpu", growth_interval=10)  # expect: short-growth-interval
broken = loader[0][0].clone()
broken[0] = float("inf")
for i in range(32):
    x, y = loader[i % len(loader)]
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(broken if i % 5 == 3 else x), y)
    grad_scaler.scale(loss).backward()
    grad_scaler.step(optimizer)
    grad_scaler.update()  # expect: unrecovered-loss-scale
```

A scale that falls now and then has time to grow:

```python good
grad_scaler = torch.amp.GradScaler("cpu", growth_interval=2000)
broken = loader[0][0].clone()
broken[0] = float("inf")
for i in range(32):
    x, y = loader[i % len(loader)]
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(broken if i % 5 == 3 else x), y)
    grad_scaler.scale(loss).backward()
    grad_scaler.step(optimizer)
    grad_scaler.update()
```

## What to do

Look for what overflows now and then: the batches on which steps are skipped, a learning rate that is too high, a
literal or a sum beyond 65504 in float16. Where it cannot be helped, a `growth_interval` below the distance between two
overflows lets the scale recover, and bfloat16 needs no scale.

## Fix

None. It shows in a run, and the model or the data, not the loop, is at fault.

## Source

- Gradient scaling, `growth_interval` (https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling)
- `torch/amp/grad_scaler.py` of torch 2.13, `update`, and `torch._amp_update_scale_`
"""

from amplint.catalogue.measures import unrecovered
from amplint.catalogue.rule import Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.WARNING,
    message="{lost} of {steps} steps were skipped and the loss scale has not grown once: it takes {interval} steps in "
    "a row without inf or NaN, and is down to {scale}",
    advice="look for what overflows now and then; a shorter `growth_interval` lets the scale recover in between",
    observe=unrecovered,
    reads=frozenset({Kind.UPDATE}),
    because=((Kind.BACKWARD, "the latest gradients are made here"),),
)
