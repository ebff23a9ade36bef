"""Gradients are erased between their backward and the step.

## What happens

What was erased never moves a weight. Where all of it is erased, every `.grad` is None and the optimizer skips
every parameter: nothing is learnt. With `set_to_none=False` the gradients are zeros, and the step still applies
momentum and weight decay: AdamW with a learning rate of 0.1 and a weight decay of 0.1 shrinks every weight by 1
% at each step. Where only part of a window is erased, the rest steps with too small a sum.

## Why it is easy to miss

Nothing fails without a scaler, and the loss of a good initialisation looks like a model that "does not learn
yet".

## Example

```python bad
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.zero_grad()  # expect: zero-grad-before-step
    optimizer.step()
```

```python good
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
```

Between forward and backward it is in time:

```python good
for x, y in loader:
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

## Messages

- `No inf checks were recorded for this optimizer.` (AssertionError) from `scaler.step()`: it found no gradients

## What to do

Zero after the step, or before the first backward of the window. Do not silence the scaler's assertion by
unscaling before the erasure: the step then runs on nothing, in silence.

## Fix

Unsafe: moves `zero_grad()` behind the step. The optimizer is handed gradients for the first time: nothing in
the run stays as it was. What is left over of an epoch after its last window is no update of its own then, and
may be told as a `dropped-tail-window`.

## Source

- Optimizer.zero_grad (a step with a gradient of 0 differs from one with None)
  (https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html)
- Typical mixed precision training
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training)
"""

from amplint.catalogue.amounts import at_least, erased_regardless, losing_again
from amplint.catalogue.remedy import TAILS, Move, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind
from amplint.protocol.ledger import Grads

RULE = Rule(
    tier=Tier.ERROR,
    message="gradients are erased between their backward and the optimizer's step: what was erased never moves "
    "a weight",
    advice="zero the gradients after the step, or before the first backward of the window",
    when=(
        Condition(Kind.SCALER_STEP, lost=at_least(1), grads=Grads.NONE, also=erased_regardless),
        Condition(STEPS, lost=at_least(1), grads=Grads.NONE, also=losing_again),
        Condition(STEPS, lost=at_least(1), micro_steps=at_least(2), steps=at_least(1), also=losing_again),
    ),
    place=Kind.ZERO_GRAD,
    because=((Kind.BACKWARD, "what this made is erased"), (Kind.STEP, "the step misses it")),
    hides=("dropped-tail-window",),
    explains=("zero-grad-per-micro-step",),
    remedy=unsafe(
        "zero the gradients after the step",
        Move(Kind.ZERO_GRAD, after=(Kind.UPDATE, Kind.SCALER_STEP, Kind.STEP)),
        reveals=TAILS,
    ),
)
