"""The norm of gradients is measured while they still carry the loss scale.

## What happens

A clip with an infinite threshold only measures. Before `scaler.unscale_()` it measures the norm times the scale: at
the initial scale of 65536 a norm of 0.5 is logged as 32768, it doubles when the scale doubles, and it is inf on every
batch that overflows. A threshold that is read off such a log is as many times too large.

## Why it is easy to miss

The training is right; only the log is wrong, and its trend looks like a gradient that explodes.

## Example

```python bad
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    norm = clip_grad_norm_(model.parameters(), float("inf"))  # expect: scaled-gradient-norm
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
    norm = clip_grad_norm_(model.parameters(), float("inf"))
    scaler.step(optimizer)
    scaler.update()
```

## What to do

Call `scaler.unscale_(optimizer)` first, once per window. Dividing the norm by `scaler.get_scale()` gives the same
number, but `get_scale()` makes the host wait for the device.

## Fix

None. To measure later and to divide by the scale are both right.

## Source

- Working with unscaled gradients: gradients are to be unscaled before they are modified or inspected
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#working-with-unscaled-gradients)
"""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads

RULE = Rule(
    tier=Tier.WARNING,
    message="the gradient norm is measured while the gradients carry the loss scale: it is up to 65536 times too large "
    "and jumps with the scale",
    advice="call `scaler.unscale_(optimizer)` before the norm is measured",
    when=(Condition(Kind.NORM, grads={Grads.SCALED, Grads.MIXED}, micro_steps=at_least(1)),),
    because=((Kind.BACKWARD, "gradients get the loss scale here"),),
)
