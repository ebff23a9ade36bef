"""The last partial window of an epoch is lost, or leaks into the next epoch.

## What happens

An epoch of nine batches in windows of four leaves one. If the next epoch begins with `zero_grad()`, it was
computed for nothing: 11 % of the epoch, and without shuffling always the same samples. If not, it leaks: the
next epoch's first window holds five micro-batches, each divided by four, and its gradient is 5/4 of what it
should be. The last epoch's tail is lost in any case.

## Why it is easy to miss

Nothing fails, and the effect is small in long epochs. It is large in fine-tuning on small data, where an epoch
may be shorter than a window: then the optimizer never steps at all.

## Example

```python bad
batches = loader + loader[:1]
for epoch in range(epochs):
    for i, (x, y) in enumerate(batches):
        loss = criterion(model(x), y) / accum_steps
        loss.backward()
        if (i + 1) % accum_steps == 0:  # expect: dropped-tail-window
            optimizer.step()
            optimizer.zero_grad()
```

The last batch closes the window, and each loss is divided by what its window really holds:

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

A counter that lives longer than an epoch has no tail:

```python good
batches = loader + loader[:1]
seen = 0
for epoch in range(4):
    for x, y in batches:
        loss = criterion(model(x), y) / accum_steps
        loss.backward()
        seen += 1
        if seen % accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
```

## What to do

Step on the last batch too and divide the tail by its own length; or let the window run on over epochs; or drop
the tail on purpose by not computing it. `DataLoader(drop_last=True)` drops samples of the last batch, not
batches of the last window. A flush after the loop needs unscale, clip, update and the schedule as well, and
must reset a counter.

## Fix

None. To step on what is left, to let it run on into the next epoch or to drop it on purpose are all right, and
the first needs another divisor too.

## Source

- Gradient accumulation (whose gate leaves a tail)
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation)
- Accelerate closes the window at the end of the data loader (`sync_with_dataloader=True`)
  (https://huggingface.co/docs/accelerate/usage_guides/gradient_accumulation)
"""

from amplint.catalogue.amounts import (
    at_least,
    left_by_an_index,
    left_over_again,
    longer_than_before,
    not_on_purpose,
    tail_words,
)
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.WARNING,
    message="micro-batches that are left over at the end of an epoch are {what}",
    advice="step on the last batch too, and divide by the number of micro-batches that it really holds",
    when=(
        Condition(Kind.ZERO_GRAD, tail=at_least(1), unseen=0, also=not_on_purpose),
        Condition(STEPS, tail=at_least(1), unseen=0, also=longer_than_before),
        Condition(Kind.END, unseen=0, also=left_by_an_index),
        Condition(Kind.END, unseen=0, also=left_over_again),
    ),
    place=Kind.STEP,
    at_gate=True,
    because=(
        (Kind.EPOCH_END, "the epoch ends with micro-batches left over"),
        (Kind.ZERO_GRAD, "gradients are zeroed here"),
    ),
    words=tail_words,
)
