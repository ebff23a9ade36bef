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

An optimizer that scales may leave the look to one of its own calls, such as the clip of fairseq's `FP16Optimizer`:

```python bad whole static-only -- needs fairseq
from fairseq import optim


def train(cfg, samples, model, criterion):
    optimizer = optim.FP16Optimizer.build_optimizer(cfg, model.parameters())
    for sample in samples:
        optimizer.zero_grad()
        loss, sample_size, logging_output = criterion(model, sample)
        optimizer.backward(loss)
        optimizer.multiply_grads(1 / sample_size)
        optimizer.step()  # expect: unchecked-manual-scale
```

```python good whole static-only -- needs fairseq
from fairseq import optim


def train(cfg, samples, model, criterion):
    optimizer = optim.FP16Optimizer.build_optimizer(cfg, model.parameters())
    for sample in samples:
        optimizer.zero_grad()
        loss, sample_size, logging_output = criterion(model, sample)
        optimizer.backward(loss)
        optimizer.multiply_grads(1 / sample_size)
        optimizer.clip_grad_norm(0)  # clips nothing, and looks
        optimizer.step()
```

## What to do

Use `torch.amp.GradScaler`: it unscales, looks, skips and adapts the scale. If the scale has to stay yours, skip the
step when some gradient is not finite, and halve the scale then. Of fairseq's optimizer call `clip_grad_norm` before
each `step`, with 0 where nothing is to be clipped: it raises OverflowError, after it has lowered the scale, and the
step is yours to leave out. In bfloat16 there is no scale and nothing to look for.

## Fix

None. A GradScaler takes the place of several lines that stand apart.

## Source

- Mixed precision training (https://docs.nvidia.com/deeplearning/performance/mixed-precision-training/index.html):
  weights are left alone in an iteration in which an Inf or NaN is found in the gradients
- GradScaler.step skips the step where `found_inf` is set
  (https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.step)
- `fairseq/optim/fp16_optimizer.py` of fairseq 3d262bb, `clip_grad_norm`, and `dynamic_loss_scaler.py`, `check_overflow`
"""

from amplint.catalogue.amounts import at_least, unchecked_scale
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.catalogue.through import checked_elsewhere, unchecked_words
from amplint.protocol.events import STEPS, Kind
from amplint.protocol.ledger import Grads

RULE = Rule(
    tier=Tier.WARNING,
    message="{what}: one overflow makes the weights NaN for good",
    advice="{remedy}",
    when=(
        Condition(Kind.STEP, steps=at_least(1), also=unchecked_scale),
        Condition(
            STEPS,
            clipped=False,
            missed=False,
            grads={Grads.PLAIN, Grads.SCALED},
            micro_steps=at_least(1),
            also=checked_elsewhere,
        ),
    ),
    because=((Kind.BACKWARD, "the loss carries the scale here"), (Kind.DIVIDE, "the gradients are divided here")),
    words=unchecked_words,
)
