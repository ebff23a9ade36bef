"""The first update comes after a single micro-batch.

## What happens

`i % accum_steps == 0` holds for `i = 0`. The first update of the run is made from one micro-batch, and with the
loss divided by four its gradient is a quarter of a window's. All later windows are one micro-batch out of
phase: of eight batches the gate opens after the first and the fifth, and the last three wait. They leak into
the next epoch's first update, or are lost where gradients are zeroed in between, or at the end of the run.

## Why it is easy to miss

It is one `+ 1`. Windows have the right length afterwards, the loss falls, and nothing fails.

## Example

```python bad
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / accum_steps
    loss.backward()
    if i % accum_steps == 0:  # expect: early-first-window
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

Counting from one, the plain remainder is right:

```python good
for step, (x, y) in enumerate(loader, start=1):
    loss = criterion(model(x), y) / accum_steps
    loss.backward()
    if step % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```

## What to do

Test `(i + 1) % accum_steps == 0`, or count from 1; not both. A condition `i > 0 and i % accum_steps == 0` only
makes the first window one micro-batch too long. `i % accum_steps == 0` stays right for a `zero_grad()` at the
beginning of a window. A counter that runs on over epochs makes a single short window in the whole run: then
this is a warning.

## Fix

Unsafe: adds the `+ 1`. The windows become those that the divisor and the schedule already count on. Other
micro-batches are left over at the end of an epoch then, and may be told as a `dropped-tail-window`, which the
epoch had before as well.

## Source

- Gradient accumulation (`if (i + 1) % iters_to_accumulate == 0`)
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation)
"""

from amplint.catalogue.amounts import after_a_short_first, at_least, in_the_first_epoch, window_words
from amplint.catalogue.remedy import CountFromOne, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind
from amplint.protocol.state import Moment


def _words(moment: Moment) -> dict[str, str]:
    """The window's length and the gate's counter, as the user spells them."""
    gate = moment.event.gate
    return {**window_words(moment), "counter": (gate.counter if gate is not None else "") or "step"}


RULE = Rule(
    tier=Tier.ERROR,
    message="the gate is open on the very first micro-batch: the first update is made from one micro-batch "
    "instead of {n}",
    advice="test `({counter} + 1) % {n} == 0`",
    when=(Condition(STEPS, micro_steps=at_least(2), also=after_a_short_first),),
    at_gate=True,
    hides=("dropped-tail-window", "misnormalized-tail-window"),
    because=((Kind.BACKWARD, "the first micro-batch alone"),),
    milder=in_the_first_epoch,
    words=_words,
    remedy=unsafe(
        "count the micro-steps that are done",
        CountFromOne(),
    ),
)
