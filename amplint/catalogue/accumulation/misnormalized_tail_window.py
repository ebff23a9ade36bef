"""The last, shorter window is stepped, but its losses are divided by the length of a full one.

## What happens

Nine batches make two windows of four and a tail of one. Divided by four, the tail's gradient is a quarter of what
it should be: SGD takes a quarter of a step, and without shuffling the samples at the end of the data set count less
in every epoch. AdamW takes nearly a full step from it, and its moments are disturbed by a gradient that is too small.

## Why it is easy to miss

The flush of the tail is there, and with it everybody believes the tail is done. In long epochs the effect is small.

## Example

```python bad
batches = loader + loader[:1]
for epoch in range(epochs):
    for i, (x, y) in enumerate(batches):
        loss = criterion(model(x), y) / accum_steps
        loss.backward()
        if (i + 1) % accum_steps == 0 or i + 1 == len(batches):
            optimizer.step()  # expect: misnormalized-tail-window
            optimizer.zero_grad()
```

Each loss is divided by what its window really holds:

```python good
batches = loader + loader[:1]
for epoch in range(epochs):
    for i, (x, y) in enumerate(batches):
        first = i - i % accum_steps
        loss = criterion(model(x), y) / min(accum_steps, len(batches) - first)
        loss.backward()
        if (i + 1) % accum_steps == 0 or i + 1 == len(batches):
            optimizer.step()
            optimizer.zero_grad()
```

## What to do

Divide by `min(accum_steps, len(loader) - first)`, where `first` is the index of the window's first micro-batch; or
draw whole windows first and divide by their length; or let windows run on over epochs, so that there is no tail.
Multiplying the gradients by `accum_steps / length` before the clip and the step is right too. Of a loss that is
computed out of sight it is enough that it is divided by what the gate counts up to.

## Fix

None. The length of the last window has to be known in advance, and where from is up to the program.

## Source

- Gradient accumulation (`loss = loss / iters_to_accumulate`)
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation)
- transformers counts the items of the window that it has really drawn (`get_batch_samples`)
  (https://huggingface.co/blog/gradient_accumulation)
"""

from amplint.catalogue.amounts import at_least, short_but_divided_by_the_long
from amplint.catalogue.lengths import tail_lengths
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.WARNING,
    message="the last window holds {held} micro-batches, but its losses are divided by {long}: its gradient is {share}",
    advice="divide by the number of micro-batches that the window really holds",
    when=(Condition(STEPS, micro_steps=at_least(1), also=short_but_divided_by_the_long),),
    because=((Kind.BACKWARD, "the loss is divided by a full window here"),),
    words=tail_lengths,
)
