"""A loss that carries the loss scale already is scaled by the same scaler once more.

## What happens

The gradients carry the square of the scale, and `unscale_()` or `step()` divides by the scale once. At the initial
scale of 65536 that is a loss times four thousand million, which overflows in float16: steps are skipped and the scale
is halved until the product fits. From then on every update is as many times too large as the scale that is left, which
is in the hundreds, and the clip threshold and the learning rate mean something else each time the scale moves.

## Why it is easy to miss

Nothing raises, as scaling is only a multiplication. The skipped steps at the start look like those of any run in mixed
precision, and Adam, which divides by the size of the gradients, hides what comes after. The second call is often in
another place: in a helper that scales what it is given, or in the optimizer's or the framework's own `backward`.

## Example

```python bad
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    loss = scaler.scale(loss)
    scaler.scale(loss).backward()  # expect: repeated-scale
    scaler.step(optimizer)
    scaler.update()
```

```python good
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

Two losses that are each scaled once are another matter:

```python good
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        first = criterion(model(x), y)
        second = model.weight.pow(2).mean()
    (scaler.scale(first) + scaler.scale(second)).backward()
    scaler.step(optimizer)
    scaler.update()
```

## What to do

Scale once, right before the backward, and keep the plain loss under a name of its own for everything else.

## Fix

None. Which of the two calls was meant, the source does not say: whatever lies between them sees another number.

## Source

- Gradient scaling (https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling)
- `torch/amp/grad_scaler.py` of torch 2.13: `scale` multiplies whatever it is given, `unscale_` divides once
- `keras/src/optimizers/loss_scale_optimizer.py` of keras 3.15.1, `scale_loss` and `apply`
"""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="a loss that carries the loss scale is scaled again: its gradients are divided by the scale once, and stay "
    "as many times too large as the scale says (65536 at the start)",
    advice="scale the loss once, right before its backward",
    when=(Condition(Kind.RESCALE),),
)
