"""Only the loss of a window's last micro-batch is back-propagated: the other micro-batches never contribute.

## What happens

Every micro-batch goes through the model and its loss is divided by the window, but `loss.backward()` stands under
the gate of the step. With a window of four, three losses of four are thrown away, and with them three quarters of
the data. What is left carries 1/4: the gradient is that of one micro-batch, four times too small. SGD moves a
quarter as far; Adam hides the size and keeps the noise of one small batch.

## Why it is easy to miss

The gate looks complete, the loss falls, and the step takes less time than before: the missing backward passes are
taken for an optimization.

## Example

```python bad
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / accum_steps
    if (i + 1) % accum_steps == 0:
        loss.backward()  # expect: backward-only-at-boundary
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

One backward for the sum of the window's losses is right too; it keeps the graphs of all of them in memory:

```python good
total = 0.0
for i, (x, y) in enumerate(loader):
    total = total + criterion(model(x), y) / accum_steps
    if (i + 1) % accum_steps == 0:
        total.backward()
        optimizer.step()
        optimizer.zero_grad()
        total = 0.0
```

## What to do

Call `backward()` on every micro-step; only the step, `scaler.update()` and `zero_grad()` belong under the gate.
`.grad` adds up what the micro-batches contribute. If only every fourth batch is to be used, take the division of
the loss out and skip the other batches before the forward.

## Fix

None. The backward can go out of the gate, or the other micro-batches need not be computed at all; which was
meant, the source does not say.

## Source

- Gradient accumulation: `backward()` stands outside of the gate
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation)
"""

from amplint.catalogue.amounts import at_least, gated_alone
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="only the last loss of each window is back-propagated, and divided by {divisor}: the other micro-batches "
    "never contribute",
    advice="call `backward()` on every micro-step; the gate is for the optimizer's step",
    when=(Condition(STEPS, micro_steps=1, lost=0, steps=at_least(1), also=gated_alone),),
    words=lambda moment: {"divisor": moment.last[Kind.BACKWARD].detail["divisor"]},
    place=Kind.BACKWARD,
    because=((Kind.STEP, "the step uses one micro-batch"),),
    hides=("step-per-micro-step",),
)
