"""`scaler.step()` consumes gradients of a loss that was never scaled.

## What happens

`scaler.step()` divides the gradients by the loss scale, and so does `scaler.unscale_()`. Here nobody has
multiplied them by it. At the initial scale of 65536 every update is made from gradients 65536 times too small:
SGD with a learning rate of 0.1 moves as with 1.5e-06. Adam cancels a common factor only while gradients are far
above its epsilon of 1e-08: a gradient of 1e-03 arrives as 1.5e-08, and the first update is 60 % of what it
should be. Since unscaled losses hardly ever overflow, the scale doubles every 2000 steps, and the updates halve
with it.

## Why it is easy to miss

torch raises only as long as the scaler has never scaled anything. One scaled loss earlier in the run, in
another branch or in another loop, is enough to silence it.

## Example

```python bad
for i, (x, y) in enumerate(loader):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    if i % 2 == 0:
        scaler.scale(loss).backward()
    else:
        loss.backward()  # expect: unscaled-backward
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

## Messages

- `Attempted step but _scale is None.` (AssertionError) while nothing has ever been scaled; the same for
  `unscale_` and `update`

## What to do

Back-propagate `scaler.scale(loss)` wherever the scaler steps what comes of it; it passes through everything
when the scaler is made with `enabled=False`, so the same lines serve runs without float16. Do not raise the
learning rate to make up for it: the factor changes with the scale. A line `scaler.scale(loss)` of its own does
nothing (`discarded-scaled-loss`).

## Fix

Safe: back-propagates the scaled loss. The scaler's step divides by the scale again, where it now divides gradients
that have none. The numbers of a run that was tuned with the mistake in it change.

## Source

- Typical mixed precision training
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training)
- `torch/amp/grad_scaler.py` of torch 2.13, `unscale_` and `_check_scale_growth_tracker`
"""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.remedy import SKIPPED, Respell, safe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads, Stage

RULE = Rule(
    tier=Tier.ERROR,
    message="the loss is back-propagated without its scale, but the scaler divides the gradients by the scale: "
    "every update is up to 65536 times too small",
    advice="back-propagate `scaler.scale(loss)`",
    when=(
        Condition(
            {Kind.UNSCALE, Kind.SCALER_STEP},
            grads=Grads.PLAIN,
            stage=Stage.READY,
            crossed=False,
            micro_steps=at_least(1),
        ),
    ),
    place=Kind.BACKWARD,
    because=(
        (Kind.UNSCALE, "the scaler divides them by the scale here"),
        (Kind.SCALER_STEP, "the scaler divides and steps here"),
    ),
    remedy=safe(
        "back-propagate the scaled loss",
        Respell(Kind.BACKWARD, into=Kind.SCALE),
        reveals=SKIPPED,
    ),
)
