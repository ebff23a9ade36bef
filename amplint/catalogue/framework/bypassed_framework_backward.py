"""The loss is back-propagated by torch, where the framework's own `backward` is due.

## What happens

The framework's backward divides the loss by the window and multiplies it by the loss scale, and the framework's step
takes both for granted. After a plain `loss.backward()` the gradient of a window of N is N times too large, and under
float16 it is divided by a loss scale that it never had: at 65536 nothing is left of it.

## Why it is easy to miss

With a window of one and without float16 nothing is wrong. A loop that is moved to a framework keeps its old line in the
branch that is seldom run: a second loss, a regularizer, the discriminator's.

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
            loss.backward()  # expect: bypassed-framework-backward
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
            optimizer.step()
            optimizer.zero_grad()
```

## Messages

- `No inf checks were recorded for this optimizer.` or `Attempted step but _scale is None.` (AssertionError) under
  float16

## What to do

Hand the loss to the framework: `accelerator.backward(loss)`, `engine.backward(loss)`, `self.manual_backward(loss)`,
`fabric.backward(loss)`, and with Apex `with amp.scale_loss(loss, optimizer) as scaled: scaled.backward()`. Do not
divide or scale by hand as well.

It is a warning where the settings that decide about it are made elsewhere (by `accelerate launch`, or by whoever hands
the Accelerator over), or where a class overrides the framework's own backward, and nothing is said where there is no
window, and the precision is known to need no scale.

## Fix

Safe: calls the framework's backward. It back-propagates the same loss, and does what the framework's step counts on
having been done. The numbers of a run that was tuned with the mistake in it change.

## Source

- Accelerate, migrating (https://huggingface.co/docs/accelerate/basic_tutorials/migration)
- `accelerate/accelerator.py` of accelerate 1.15, `backward`
"""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.remedy import Through, safe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.catalogue.through import backward_in_a_loop, bypassed, instead, lost_words
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the loss is back-propagated by torch, but the step is the framework's: the gradient is {lost}",
    advice="call `{backward}` instead{also}",
    when=(Condition(STEPS, micro_steps=at_least(1), also=bypassed(Kind.BACKWARD, "backward")),),
    find=backward_in_a_loop,
    milder=lambda moment: "unsure" in moment.event.detail or instead(moment),
    words=lost_words,
    place=Kind.BACKWARD,
    because=((Kind.STEP, "the framework steps here"),),
    hides=("missing-loss-division", "unscaled-backward", "wrong-loss-divisor", "mixed-scaled-losses"),
    remedy=safe(
        "call `{backward}`",
        Through("backward"),
    ),
)
