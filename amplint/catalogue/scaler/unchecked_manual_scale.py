"""The loss is scaled by hand and the gradients are divided by the scale, but nobody looks whether they overflowed.

## What happens

A gradient that is infinite under the scale is infinite after the division too. The optimizer steps with it, the
weights become NaN, and stay so. A GradScaler looks before each step, skips it, and lowers the scale; a constant
scale by hand does neither.

## Why it is easy to miss

The arithmetic is right, and as long as nothing overflows the run is the same as with a scaler. One batch out of a
hundred thousand is enough.

## Example

```python bad static-only -- it waits for an answer
loss_scale = float(input("loss scale: "))
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    (loss * loss_scale).backward()
    for p in model.parameters():
        p.grad.div_(loss_scale)
    optimizer.step()  # expect: unchecked-manual-scale
```

```python good static-only -- it waits for an answer
loss_scale = float(input("loss scale: "))
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    (loss * loss_scale).backward()
    for p in model.parameters():
        p.grad.div_(loss_scale)
    if all(torch.isfinite(p.grad).all() for p in model.parameters()):
        optimizer.step()
```

A number of the source, in both places:

```python bad
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    (loss * 1024.0).backward()
    for p in model.parameters():
        p.grad.div_(1024.0)
    optimizer.step()  # expect: unchecked-manual-scale
```

## What to do

Use `torch.amp.GradScaler`: it unscales, looks, skips and adapts the scale. If the scale has to stay yours, skip the
step when some gradient is not finite, and halve the scale then.

## Fix

None. A GradScaler takes the place of several lines that stand apart.

## Source

- Mixed precision training (https://docs.nvidia.com/deeplearning/performance/mixed-precision-training/index.html):
  weights are left alone in an iteration in which an Inf or NaN is found in the gradients
- GradScaler.step skips the step where `found_inf` is set
  (https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.step)
"""

from amplint.catalogue.amounts import at_least, unchecked_scale
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.WARNING,
    message="gradients carry a loss scale by hand, which is divided out again, and nobody looks whether they are "
    "finite: one overflow makes the weights NaN for good",
    advice="skip the step when a gradient is not finite, or use `torch.amp.GradScaler`",
    when=(Condition(Kind.STEP, steps=at_least(1), also=unchecked_scale),),
    because=((Kind.BACKWARD, "the loss carries the scale here"), (Kind.DIVIDE, "the gradients are divided by it here")),
)
