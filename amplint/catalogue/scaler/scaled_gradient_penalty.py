"""Gradients of a scaled loss go into a penalty as they are: the penalty grows with the loss scale.

## What happens

`torch.autograd.grad` of a scaled loss returns gradients times the scale, and nobody unscales them: the scaler only
looks at `.grad`. A penalty made of them is 65536 times too large at first, its square four thousand million times. The
loss is the penalty then, and changes by a factor each time the scale does.

## Why it is easy to miss

The same expression was right without a scaler, and scaling before a backward is what one has learned to do. Large
penalties overflow, the scaler halves the scale at each overflow, and after some skipped steps the run looks stable.

## Example

```python bad
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaled = scaler.scale(loss)
    grads = torch.autograd.grad(scaled, model.parameters(), create_graph=True)  # expect: scaled-gradient-penalty
    with torch.autocast("cpu", dtype=torch.float16):
        penalty = 0
        for grad in grads:
            penalty += grad.pow(2).sum()
        loss = loss + penalty.sqrt()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

```python good
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaled = torch.autograd.grad(scaler.scale(loss), model.parameters(), create_graph=True)
    inv_scale = 1.0 / scaler.get_scale()
    grads = [grad * inv_scale for grad in scaled]
    with torch.autocast("cpu", dtype=torch.float16):
        penalty = 0
        for grad in grads:
            penalty += grad.pow(2).sum()
        loss = loss + penalty.sqrt()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

## What to do

Divide what `autograd.grad` returns by `scaler.get_scale()` before anything else is done with it. The scale protects
small values on their way back; outside of that the numbers have to be true ones.

## Fix

None. The gradients have to be divided by the scale, and the penalty computed under autocast again: several
lines, in names of their author's.

## Source

- Gradient penalty with scaled gradients
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-penalty)
"""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the gradients of a scaled loss are used in a loss as they are: the penalty is as many times too large as "
    "the loss scale says (65536 at the start)",
    advice="divide them by `scaler.get_scale()` first",
    when=(Condition(Kind.PENALTY),),
)
