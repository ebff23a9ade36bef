"""Gradients are clipped before the backward that makes them.

## What happens

After `zero_grad()` every `.grad` is None: `clip_grad_norm_` finds nothing, returns a norm of 0.0 and says no
more. The gradients that the backward makes afterwards are stepped unclipped. Where the last window's gradients
are still there, it is those that are clipped, after they have been used. Where another clip follows after the backward,
this one does nothing, and its threshold never holds: that is a warning.

## Why it is easy to miss

There is no error and no warning. The logged norm is 0.0, or that of the step before.

## Example

```python bad
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    clip_grad_norm_(model.parameters(), 1.0)  # expect: clip-before-backward
    loss.backward()
    optimizer.step()
```

```python good
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
```

A method that only returns the loss is called before the backward, too:

```python bad whole static-only -- needs Lightning
import torch
from lightning.pytorch import LightningModule


class Classifier(LightningModule):
    def training_step(self, batch, batch_idx):
        loss = self.criterion(self.model(batch[0]), batch[1])
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)  # expect: clip-before-backward
        return loss
```

## What to do

Clip after the last backward of the window and before the optimizer's step; with a GradScaler after
`scaler.unscale_(optimizer)`. Clipping the loss or the weights is something else and does not bound the
gradients. In Lightning set `gradient_clip_val` of the Trainer, or override `configure_gradient_clipping`.

## Fix

Unsafe: moves the clip between the backward and the step, with the unscaling that it needs. Gradients are
clipped for the first time: where the threshold bites, the updates become smaller.

## Source

- clip_grad_norm_ (https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html)
- `lightning/pytorch/loops/optimization/automatic.py` of lightning 2.6.6: `Closure.closure` calls the step, zeroes, and
  back-propagates
- `torch/nn/utils/clip_grad.py` of torch 2.13: parameters whose `.grad` is None are left out
"""

from amplint.catalogue.remedy import Insert, Move, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.catalogue.through import clipped_in_a_loop, overtaken, overtaken_words, too_early
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads

RULE = Rule(
    tier=Tier.ERROR,
    message="gradients are clipped before the backward that makes them: the clip meets none, or what the last window "
    "left, and {then}",
    advice="{cure}",
    words=overtaken_words,
    when=(
        Condition(Kind.CLIP, fresh=True, grads=Grads.NONE),
        Condition(Kind.CLIP, led_by_clip=True, used=True, micro_steps=0),
        Condition(Kind.CLIP, led_by_clip=True, grads=Grads.NONE),
        Condition(Kind.CLIP, grads=Grads.NONE, also=too_early),
    ),
    find=clipped_in_a_loop,
    milder=overtaken,
    because=((Kind.BACKWARD, "the gradients are made here, after the clip"),),
    hides=("clip-after-step", "clip-per-micro-step"),
    explains=("repeated-unscale", "clip-before-unscale"),
    remedy=unsafe(
        "clip between the backward and the step",
        Move(Kind.CLIP, before=(Kind.SCALER_STEP, Kind.STEP)),
        (Insert(Kind.UNSCALE, before=(Kind.SCALER_STEP,)), Move(Kind.CLIP, before=(Kind.SCALER_STEP,))),
    ),
)
