"""The gradients carry the loss scale, but the optimizer steps directly.

## What happens

The gradients are 65536 times too large at the initial scale, and `optimizer.step()` uses them as they are: SGD
with a learning rate of 0.1 moves as with 6553.6. Adam and AdamW cancel a common factor and hide it, but the
share of coupled (L2) weight decay falls to 1/65536, and under any optimizer an overflow is not skipped any
more: the first inf gradient goes into the weights, which are NaN soon after.

## Why it is easy to miss

Under AdamW without a clip the loss falls as usual until the first overflow, which may come after thousands of
steps.

## Example

```python bad
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    optimizer.step()  # expect: step-bypasses-scaler
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

Gradients that `scaler.unscale_` has divided have the right size, and the ones that overflowed are in them all the same:
`unscale_` records it, and only `scaler.step` leaves the step out.

```python bad static-only -- its numbers are right until the first overflow
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()  # expect: step-bypasses-scaler
    scaler.update()
```

```python good static-only -- the twin of what is not run
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if torch.isfinite(norm):
        optimizer.step()
    scaler.update()
```

It is a warning where it is not certain that the forward runs in float16, and nothing is said in bfloat16.

## Messages

- `No inf checks were recorded prior to update.` (AssertionError) when `scaler.update()` follows such a step

## What to do

Replace `optimizer.step()` by `scaler.step(optimizer)` and call `scaler.update()` once after it. Do not delete
`scaler.update()` to silence the assertion, and do not divide the learning rate by the scale.

## Fix

Safe: steps through the scaler. The gradients are divided by the scale that they carry, and a step that would hold
infinities is skipped. The numbers of a run that was tuned with the mistake in it change.

## Source

- Typical mixed precision training
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training)
- `torch/amp/grad_scaler.py` of torch 2.13, `step` and `update`
"""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.inf_checks import bypassing_words, only_unscaled, regardless_of_overflow
from amplint.catalogue.remedy import SKIPPED, Insert, Respell, safe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads, Stage

RULE = Rule(
    tier=Tier.ERROR,
    message="the optimizer steps {what}",
    advice="step through the scaler: `scaler.step(optimizer)`, then `scaler.update()`",
    when=(
        Condition(Kind.STEP, grads={Grads.SCALED, Grads.MIXED}, micro_steps=at_least(1)),
        Condition(
            Kind.STEP, grads=Grads.PLAIN, stage=Stage.UNSCALED, micro_steps=at_least(1), also=regardless_of_overflow
        ),
    ),
    milder=only_unscaled,
    words=bypassing_words,
    because=((Kind.BACKWARD, "gradients get the loss scale here"),),
    remedy=safe(
        "step through the scaler",
        Respell(Kind.STEP, into=Kind.SCALER_STEP),
        (Respell(Kind.STEP, into=Kind.SCALER_STEP), Insert(Kind.UPDATE, after=(Kind.STEP,))),
        reveals=SKIPPED,
    ),
)
