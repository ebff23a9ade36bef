"""The loss is divided after it has been back-propagated, or on a copy that is not.

## What happens

`backward()` has filled `.grad` from the undivided loss; dividing the loss tensor afterwards does not reach it.
The gradient of a window of four is four times too large: a learning rate of 0.1 acts like 0.4, a clip threshold
of 1.0 like 0.25.

## Why it is easy to miss

The division is in the code, and whoever looks for it finds it. The logged loss may even be the divided one.

## Example

```python bad
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
    loss.backward()  # expect: ineffective-loss-division
    loss = loss / accum_steps
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```

```python good
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
    loss = loss / accum_steps
    loss.backward()
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```

A copy is divided, and the original is back-propagated:

```python bad
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
    mean_loss = loss / accum_steps
    loss.backward()  # expect: ineffective-loss-division
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```

## What to do

Move the division above the backward, and back-propagate what was divided: `(loss / accum_steps).backward()`.
With a GradScaler: `scaler.scale(loss / accum_steps).backward()`. `loss.div(accum_steps)` alone is thrown away,
only `div_` works in place. Then multiply back for the log, on a detached copy.

## Fix

Unsafe: divides before the backward. The gradient, and with SGD the effective learning rate, becomes 1/N of what
it was; the message says what N is.

## Source

- Gradient accumulation: the loss is divided before `scaler.scale(loss).backward()`
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation)
"""

from amplint.catalogue.amounts import undivided, window_words
from amplint.catalogue.remedy import Delete, Divide, Move, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the loss is divided by {n} only after its backward, or on a copy: the gradients were made from the "
    "undivided loss and are {n} times too large",
    advice="divide the loss by {n} before its backward",
    when=(Condition(STEPS, late=True, also=undivided),),
    place=Kind.BACKWARD,
    because=((Kind.LOSS_DIVIDED, "the division comes too late here"),),
    words=window_words,
    hides=("missing-loss-division",),
    remedy=unsafe(
        "divide the loss by {n} before its backward: the gradient, and with SGD the effective learning rate, becomes "
        "1/{n} of what it was",
        Move(Kind.LOSS_DIVIDED, before=(Kind.BACKWARD,)),
        (Delete(Kind.LOSS_DIVIDED), Divide()),
        Divide(),
    ),
)
