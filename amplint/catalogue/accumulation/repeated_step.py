"""The optimizer steps a second time on gradients that it has already used.

## What happens

Nothing was zeroed since the step before: `p.grad` holds what it held, with or without another loss on top. Plain SGD
moves every weight twice as far as the learning rate says. Momentum and Adam enter the same gradient into their
averages twice, their step counts and bias corrections run ahead, and weight decay is applied twice. A clip
before the first step limits the gradient, and not the two steps together. Through a `GradScaler` torch refuses
the second step: "step() has already been called since the last update()".

## Why it is easy to miss

The loss falls, only less smoothly; it looks like a learning rate that is somewhat too high. The second call is
often in another place: in a helper, in a wrapper whose `step` already does it, in a branch that used to be the
other branch, or in a flush after the loop of windows that came out even.

## Example

```python bad
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / accum_steps
    loss.backward()
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.step()  # expect: repeated-step
        optimizer.zero_grad()
```

```python good
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / accum_steps
    loss.backward()
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```

A step before the last backward of a window, and one after it:

```python bad
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / accum_steps
    if (i + 1) % accum_steps == 0:
        optimizer.step()  # expect: repeated-step
    loss.backward()
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```

A second step with gradients of its own is another matter, and so is a step that meets none:

```python good
optimizer.step()
for x, y in loader:
    criterion(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
    optimizer.zero_grad()
```

## Messages

- `step() has already been called since the last update().` (RuntimeError)

## What to do

Take one of the two calls out. If two steps on one batch are meant, back-propagate anew between them, on gradients
that were zeroed. A flush after the loop belongs under a test that something is left over.

## Fix

None. Which of the steps was meant, the source does not say.

## Source

- `GradScaler.step`, which refuses a second call before `update()`
  (https://github.com/pytorch/pytorch/blob/v2.13.0/torch/amp/grad_scaler.py)
- `Optimizer.step`, which looks at `.grad` and at nothing else
  (https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.step.html)
"""

from amplint.catalogue.amounts import added_between_steps, at_least, of_one_optimizer, twice_words
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind
from amplint.protocol.ledger import Grads

RULE = Rule(
    tier=Tier.ERROR,
    message="the optimizer steps twice with the same gradients: {what}",
    advice="step once for each time that gradients were made, and zero them before others are made",
    when=(
        Condition(
            STEPS, used=True, grads={Grads.PLAIN, Grads.SCALED, Grads.MIXED}, micro_steps=0, also=of_one_optimizer
        ),
        Condition(Kind.ZERO_GRAD, restacked=1, stacking=at_least(1), also=added_between_steps),
    ),
    place=Kind.REUSED,
    because=((Kind.BACKWARD, "the last loss before the second step"), (Kind.STEP, "a step uses the gradients here")),
    words=twice_words,
    hides=("clip-after-step",),  # what is clipped between the two is stepped by the second
)
