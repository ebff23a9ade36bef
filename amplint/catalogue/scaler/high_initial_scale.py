"""The first five or more steps are all skipped, because the loss scale begins too high.

## What happens

The scaler begins at 65536 unless it is told otherwise, and halves that until the scaled gradients fit into float16.
Each halving costs a step that is skipped: the batch was computed for nothing, and a scheduler that steps all the
same has used up its first values, in a warm-up the smallest ones.

## Why it is easy to miss

Skipped steps are silent, and one or two at the start are normal.

## Example

```python bad
grad_scaler = torch.amp.GradScaler("cpu", init_scale=2.0**30)
for epoch in range(4):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = criterion(model(x), y)
        grad_scaler.scale(loss).backward()
        grad_scaler.step(optimizer)
        grad_scaler.update()  # expect: high-initial-scale
```

```python good
grad_scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)
for epoch in range(4):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = criterion(model(x), y)
        grad_scaler.scale(loss).backward()
        grad_scaler.step(optimizer)
        grad_scaler.update()
```

## What to do

Start lower: `init_scale=2.0**12` to `2.0**14` for deep networks; the scale grows by itself. When training goes on
from a checkpoint, restore the scaler's state too: then it begins where it was.

## Fix

None. It shows in a run, and which scale is low enough depends on the model.

## Source

- Gradient scaling, `init_scale` (https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling)
"""

from amplint.catalogue.measures import slow_start
from amplint.catalogue.rule import Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.WARNING,
    message="the first {skipped} steps were all skipped: the loss scale begins too high",
    advice="begin with a lower scale, such as `init_scale=2.0**12`, or restore the scaler's state",
    observe=slow_start,
    reads=frozenset({Kind.UPDATE}),
)
