"""The binary cross entropy of probabilities is computed under the autocast of CUDA, which refuses it.

## What happens

torch raises a RuntimeError, whatever dtype the inputs have: `.float()` before the call does not help. The logarithm
of a probability that was rounded to float16 would be infinite, and so would its gradient.

## Why it is easy to miss

On the CPU it runs: the autocast of the CPU computes it in float32. The same code fails once there is a GPU.

## Example

```python bad static-only -- needs CUDA
with torch.autocast("cuda", dtype=torch.float16):
    out = torch.sigmoid(model(x))
    loss = F.binary_cross_entropy(out, y)  # expect: autocast-unsafe-loss
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
```

```python good static-only -- needs CUDA
with torch.autocast("cuda", dtype=torch.float16):
    loss = F.binary_cross_entropy_with_logits(model(x), y)
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
```

Where there are no logits, it is computed with autocast switched off, on float32:

```python good static-only -- needs CUDA
with torch.autocast("cuda", dtype=torch.float16):
    out = torch.sigmoid(model(x))
    with torch.autocast("cuda", enabled=False):
        loss = F.binary_cross_entropy(out.float(), y)
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
```

## Messages

- `torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.` (RuntimeError)

## What to do

Drop the sigmoid, and use `F.binary_cross_entropy_with_logits` or `nn.BCEWithLogitsLoss` on the logits: they are safe,
and more exact. Do not do one without the other. Else end the region before, or nest one with `enabled=False`.

## Fix

None. The model has to hand out logits, and whoever else uses its probabilities has to be changed with it.

## Source

- Prefer `binary_cross_entropy_with_logits` over `binary_cross_entropy`
  (https://docs.pytorch.org/docs/stable/amp.html#prefer-binary-cross-entropy-with-logits-over-binary-cross-entropy)
- `aten/src/ATen/autocast_mode.cpp` of torch 2.13: `binary_cross_entropy_banned`, registered for `Autocast` (CUDA);
  `KERNEL_CPU(binary_cross_entropy, fp32)`
"""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.precision import BANNED, LOWER

RULE = Rule(
    tier=Tier.ERROR,
    message="`{criterion}` under the autocast of CUDA: torch raises a RuntimeError, whatever dtype its inputs have",
    advice="compute it from the logits (`binary_cross_entropy_with_logits`, `BCEWithLogitsLoss`) without the sigmoid, "
    'or inside `torch.autocast("cuda", enabled=False)` on float32',
    when=(
        Condition(
            Kind.CRITERION,
            also=lambda moment: moment.event.region in LOWER and moment.event.detail.get("criterion") in BANNED,
        ),
    ),
)
