"""A window is set up with the framework, but its context is never entered: every step steps.

## What happens

`Accelerator(gradient_accumulation_steps=N)` makes `accelerator.backward` divide every loss by N. Which micro-step is
the boundary is decided by `with accelerator.accumulate(model)` alone: without it every micro-step is one, so the
optimizer steps N times as often, each time on the gradient of one micro-batch divided by N. Under SGD the learning rate
is N times too small, and the batch is not the one that was asked for.

## Why it is easy to miss

Nothing fails, and the number that is logged as the total batch size is the one that was asked for.

## Example

```python bad whole static-only -- needs accelerate
import torch
from accelerate import Accelerator


def train(args, model, loader, criterion):
    accelerator = Accelerator(gradient_accumulation_steps=args.accum, mixed_precision="fp16")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        loss = criterion(model(x), y)
        accelerator.backward(loss)
        optimizer.step()  # expect: missing-accumulate-context
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

- no error

## What to do

Put the micro-step inside `with accelerator.accumulate(model):`. Where no accumulation is wanted, leave
`gradient_accumulation_steps` out.

## Fix

None. All of the micro-step has to go into the context, and the division that the framework then does may be
there by hand.

## Source

- Accelerate, gradient accumulation
  (https://huggingface.co/docs/accelerate/usage_guides/gradient_accumulation)
- `accelerate/accelerator.py` of accelerate 1.15, `accumulate` and `backward`
"""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.catalogue.through import alone_outside, context_words
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="a window is set up, but `{context}` is never entered: the framework divides every loss by the window, and "
    "every micro-step is stepped",
    advice="put the micro-step inside `with {context}:`",
    when=(Condition(STEPS, micro_steps=1, lost=0, also=alone_outside),),
    because=((Kind.BACKWARD, "the loss of one micro-batch is divided by the window here"),),
    words=context_words,
    hides=("step-per-micro-step",),
)
