"""The loss is divided by something that is not the length of the window.

## What happens

The weights of a window's micro-batches have to add up to 1. Divided by a running index that begins at 1, the losses
of a window of four weigh 1, 1/2, 1/3 and 1/4: the gradient is 2.08 times too large and half of it comes from the
first micro-batch; in the tenth window, where the index runs from 37 to 40, it is a tenth of what it should be.
Divided by a batch size of 8, a mean is divided once too often: a window of four has half of its gradient, and the
learning rate changes with the batch size. Divided by `len(loader)` it shrinks with the data set.

## Why it is easy to miss

There is a division, and in one configuration, `accum_steps` equal to the batch size, it is even right. Adam hides
a constant factor.

## Example

```python bad
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / (i + 1)
    loss.backward()  # expect: wrong-loss-divisor
    if (i + 1) % accum_steps == 0:
        optimizer.step()
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

Divided in the loop, and once more by somebody else:

```python bad
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / accum_steps
    loss = loss / accum_steps
    loss.backward()  # expect: wrong-loss-divisor
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```

The criterion has already taken the mean over the batch:

```python bad live-only -- how large a batch is shows in a run
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / len(x)
    loss.backward()  # expect: wrong-loss-divisor
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```

## What to do

Divide a mean by the number of micro-batches in the window, and a sum by the number of samples (or valid tokens) in
the window. For a log, divide a detached copy: `total += loss.detach() / len(loader)`.

## Fix

None. The divisor may be wrong, or the window; a division that is due twice would be worse.

## Source

- Gradient accumulation (`loss = loss / iters_to_accumulate`)
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation)
"""

from amplint.catalogue.amounts import divided_by_another, divisor_words, weight_in_doubt
from amplint.catalogue.measures import wrong_divisor
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the losses of a window of {n} are divided by {what}: the gradient is {sum} times that of the "
    "equivalent batch",
    advice="divide a mean by the number of micro-batches in its window",
    when=(Condition(STEPS, also=divided_by_another),),
    observe=wrong_divisor,
    place=Kind.BACKWARD,
    words=divisor_words,
    undecided=weight_in_doubt,
)
