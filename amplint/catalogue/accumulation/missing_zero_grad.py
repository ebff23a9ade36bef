"""Gradients are never zeroed: those of all windows add up.

## What happens

Backward adds to `.grad`, and nothing takes away. The k-th step uses the sum of k gradients: after 100 steps it
is about 100 times too large if they point the same way. For SGD this is momentum with a factor of 1.0: old
gradients are never forgotten, and the loss oscillates or diverges.

With a GradScaler it looks different: each unscaling divides the leftovers by the scale again, so that at 65536
only 1.5e-05 of the last gradient is left over and the run seems healthy. But the first inf stays in `.grad` for
ever: from the first overflow on every step is skipped, and the scale halves at each update.

## Why it is easy to miss

The loss falls at first, as with any strong momentum. `optimizer.zero_grad` without the parentheses does
nothing.

## Example

```python bad
for epoch in range(epochs):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accum_steps
        loss.backward()  # expect: missing-zero-grad
        if (i + 1) % accum_steps == 0:
            optimizer.step()
```

```python good
for epoch in range(epochs):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accum_steps
        loss.backward()
        if (i + 1) % accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
```

## What to do

Call `optimizer.zero_grad()` once per window: after the step, under its gate. Do not put it at the top of a loop
that accumulates (`zero-grad-per-micro-step`), nor between backward and step (`zero-grad-before-step`). With
several optimizers each one needs its own. Lowering the learning rate only delays the divergence.

## Fix

Safe: zeroes right after the step, or before the backward where the gradients are read after the step or another loss
may fill them. No right program steps again and again on the sum of all gradients so far. The numbers of a run that was
tuned with the mistake in it change.

## Source

- Optimizer.zero_grad (https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html)
- Tensor.backward accumulates in the leaves
  (https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html)
"""

from amplint.catalogue.amounts import at_least, erasure_words, in_a_loop, ungated
from amplint.catalogue.remedy import Insert, safe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="gradients are {zeroed}: every step uses the sum of all gradients since {since}",
    advice="call `optimizer.zero_grad()` after every step",
    when=(
        Condition(Kind.END, zeros=0, steps=at_least(2), restacked=at_least(1), also=in_a_loop),
        Condition(Kind.ZERO_GRAD, restacked=at_least(3), also=ungated),
        Condition(Kind.ZERO_GRAD, restacked=at_least(2), longest=at_least(2), also=ungated),
    ),
    place=Kind.BACKWARD,
    because=((Kind.STEP, "the step leaves the gradients as they are"),),
    words=erasure_words,
    remedy=safe(
        "zero the gradients once per step",
        Insert(Kind.ZERO_GRAD, after=(Kind.UPDATE, Kind.SCALER_STEP, Kind.STEP)),
        Insert(Kind.ZERO_GRAD, before=(Kind.BACKWARD,)),
    ),
)
