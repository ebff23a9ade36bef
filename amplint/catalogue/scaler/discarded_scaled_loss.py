"""The result of `scaler.scale(loss)` is not used.

## What happens

`scale()` returns a new tensor and leaves `loss` as it was. What is back-propagated is the unscaled loss, and
`scaler.step()` divides its gradients by the scale: at the initial scale of 65536 SGD with a learning rate of
0.1 moves as with 1.5e-06.

## Why it is easy to miss

torch does not raise: the assertion that catches a loss that was never scaled asks only whether `scale()` has
been called, and it has. The loss looks right in the log, and falls very slowly or not at all.

## Example

```python bad static-only -- while it runs, this looks like a loss that was never scaled
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss)  # expect: discarded-scaled-loss
    loss.backward()
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

## What to do

Back-propagate the result: `scaler.scale(loss).backward()`, or `scaled_loss = scaler.scale(loss)` and
`scaled_loss.backward()`. Keep `loss` for the log. There is no in-place variant: `scaler.scale_()` does not
exist.

## Fix

Safe: back-propagates the scaled loss, as its scaling says was meant; the scaler's step divides by the scale again.
The numbers of a run that was tuned with the mistake in it change.

## Source

- Gradient scaling (https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling)
- `torch/amp/grad_scaler.py` of torch 2.13, `scale`: "Returns scaled outputs"
"""

from amplint.catalogue.remedy import Delete, Respell, safe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the scaled loss that is made here is thrown away: the loss itself stays as it was",
    advice="back-propagate the result: `scaler.scale(loss).backward()`",
    when=(Condition(Kind.DISCARD),),
    hides=("unscaled-backward",),
    remedy=safe(
        "back-propagate the scaled loss",
        (Delete(Kind.DISCARD), Respell(Kind.BACKWARD, into=Kind.SCALE)),
    ),
)
