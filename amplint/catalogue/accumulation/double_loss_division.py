"""The loss is divided by the window by hand, and again by the framework's backward.

## What happens

The framework's backward divides by the number of accumulated micro-batches that it was told. A loss that the code has
divided already is divided twice: the gradient of a window of N is 1/N of that of the equivalent batch. Under SGD the
learning rate is N times too small; AdamW hides it, but a clip threshold of 1.0 acts like N, and is never reached.

## Why it is easy to miss

The loss falls, only slower. The division by hand is what every tutorial without a framework shows.

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
            loss = criterion(model(x), y) / args.accum
            accelerator.backward(loss)  # expect: double-loss-division
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

- no error

## What to do

Leave the division to the framework. Where a loss is weighted by its share of all tokens in the window, multiply by N
what the framework will divide: `loss = loss_sum * N / tokens`.

## Fix

Unsafe: takes out the division by hand, so that the gradient becomes N times what it was. With SGD the effective
learning rate grows with it, and so does what a clip threshold lets through.

## Source

- Accelerate, gradient accumulation
  (https://huggingface.co/docs/accelerate/usage_guides/gradient_accumulation)
- `accelerate/accelerator.py` of accelerate 1.15, `backward`
- `deepspeed/runtime/engine.py` of deepspeed 0.19, `backward`
"""

from amplint.catalogue.amounts import weight_in_doubt
from amplint.catalogue.remedy import Undivide, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.catalogue.through import (
    divided_again,
    divided_before_an_engine,
    divided_by_both,
    divided_in_a_loop,
    twice_words,
)
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the loss is divided by {n} by hand, and again {again}: the gradient is {sum} times "
    "that of the equivalent batch",
    advice="leave the division to the framework",
    when=(
        Condition(Kind.BACKWARD, also=divided_again),
        Condition(STEPS, also=divided_by_both),
        Condition(STEPS, also=divided_before_an_engine),
    ),
    place=Kind.BACKWARD,
    because=((Kind.STEP, "stepped here"),),
    words=twice_words,
    undecided=weight_in_doubt,
    find=divided_in_a_loop,
    hides=("wrong-loss-divisor", "step-per-micro-step"),
    remedy=unsafe(
        "leave the division to the framework: the gradient becomes {n} times what it was",
        Undivide(),
    ),
)
