"""`unscale_()` is called twice for one optimizer between two updates.

## What happens

torch raises at the second call. Without that check the gradients would be divided by the scale twice: at 65536
they would be 2.3e-10 of what was back-propagated.

## Why it is easy to miss

A loop that unscales and clips after every backward works as long as it steps after every backward. It breaks on
the second micro-step as soon as gradients are accumulated.

## Example

```python bad static-only -- torch raises: unscale_() has already been called on this optimizer since the last update().
for i, (x, y) in enumerate(loader):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y) / accum_steps
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)  # expect: repeated-unscale
    clip_grad_norm_(model.parameters(), 1.0)
    if (i + 1) % accum_steps == 0:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
```

```python good
for i, (x, y) in enumerate(loader):
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y) / accum_steps
    scaler.scale(loss).backward()
    if (i + 1) % accum_steps == 0:
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
```

## Messages

- `unscale_() has already been called on this optimizer since the last update().` (RuntimeError)

## What to do

Move `unscale_()`, and the clip with it, under the gate of the step: once per optimizer and window. If a batch
is dropped after `unscale_()` and before the step, call `scaler.update()` on that path too. Common wrong mends:
deleting `unscale_()` (the clip then meets scaled gradients: `clip-before-unscale`); `scaler.update()` on every
micro-step (the next backward adds scaled gradients to unscaled ones); catching the error; clearing
`scaler._per_optimizer_states`.

## Fix

Unsafe: unscales once per window, right before the step, and clips there too. torch raises as it stands, or
gradients are divided by the scale twice; what comes out in their place is new.

## Source

- Gradient accumulation (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation)
- `torch/amp/grad_scaler.py` of torch 2.13, `unscale_`
"""

from amplint.catalogue.remedy import AtBoundary, Delete, Move, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Stage

RULE = Rule(
    tier=Tier.ERROR,
    message="`unscale_()` is called again for this optimizer before `scaler.update()`: torch raises, because the "
    "gradients would be divided by the scale twice",
    advice="call `unscale_()` once per window, on the micro-step on which the optimizer steps",
    when=(Condition(Kind.UNSCALE, stage=Stage.UNSCALED),),
    because=((Kind.UNSCALE, "already unscaled here, on an earlier micro-step or call"),),
    hides=("clip-per-micro-step", "clip-before-unscale", "scaled-gradient-norm"),
    needs_every_path=False,
    remedy=unsafe(
        "unscale once per window, right before the step",
        Move(Kind.UNSCALE, before=(Kind.SCALER_STEP,), along=(Kind.CLIP,)),
        Move(Kind.UNSCALE, before=(Kind.SCALER_STEP,)),
        Delete(Kind.UNSCALE),
        AtBoundary("boundary"),
    ),
)
