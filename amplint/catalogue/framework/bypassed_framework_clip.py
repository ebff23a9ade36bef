"""Gradients are clipped by torch, where the framework's own clip is due.

## What happens

The framework's clip first takes out the loss scale, and knows whether the gradients are sharded. torch's clip compares
the norm of scaled gradients with the threshold: at 65536 a threshold of 1.0 acts like 1.5e-05. On sharded parameters it
compares the norm of this rank's part, so that every rank shrinks by another factor.

## Why it is easy to miss

On one device without float16 both clips do the same: there it is a warning, and where nothing in the project asks for
float16.

## Example

```python bad whole static-only -- needs accelerate
import torch
from accelerate import Accelerator


def train(args, model, loader, criterion):
    accelerator = Accelerator(gradient_accumulation_steps=args.accum, mixed_precision="fp16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = criterion(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: bypassed-framework-clip
            optimizer.step()
            optimizer.zero_grad()
```

```python good whole static-only -- needs accelerate
import torch
from accelerate import Accelerator


def train(args, model, loader, criterion):
    accelerator = Accelerator(gradient_accumulation_steps=args.accum, mixed_precision="fp16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = criterion(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
```

## Messages

- no error; the gradient norm that is logged is enormous under float16, and nothing is learned

## What to do

Call the framework's clip, on the micro-step on which the optimizer steps: `accelerator.clip_grad_norm_` under
`if accelerator.sync_gradients`, `self.clip_gradients(...)` in Lightning, `fabric.clip_gradients(...)`, and for
DeepSpeed the entry `gradient_clipping` of its configuration.

## Fix

Safe: calls the framework's clip with the same arguments, at the end of the window where it has one. The threshold
becomes the one that is written. The numbers of a run that was tuned with the mistake in it change.

## Source

- Accelerate, gradient clipping (https://huggingface.co/docs/accelerate/package_reference/accelerator)
- `accelerate/accelerator.py` of accelerate 1.15, `clip_grad_norm_`
"""

from amplint.catalogue.remedy import AtBoundary, Through, safe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.catalogue.through import bypassed, clip_words, clipped_past_a_loop, may_carry_none
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="gradients are clipped by torch, but the step is the framework's: {missed}",
    advice="call `{clip}` instead",
    when=(Condition(STEPS, clipped=True, also=bypassed(Kind.CLIP, "clip")),),
    place=Kind.CLIP,
    because=((Kind.BACKWARD, "the framework back-propagates here"), (Kind.STEP, "and steps here")),
    milder=may_carry_none,
    words=clip_words,
    find=clipped_past_a_loop,
    hides=("clip-before-unscale", "clip-per-micro-step"),
    remedy=safe(
        "call `{clip}`",
        Through("clip"),
        (Through("clip"), AtBoundary("boundary")),
    ),
)
