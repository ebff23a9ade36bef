"""Gradients are erased on every micro-step though the step is gated.

## What happens

Of a window of four micro-batches the first three are computed and thrown away, and the optimizer steps on the
last one alone. The batch is a quarter of what was intended, and if the loss is divided by four, so is the
gradient: a learning rate of 0.1 acts like 0.025.

## Why it is easy to miss

`optimizer.zero_grad()` at the top of the loop is right in every loop without accumulation and is left there
when accumulation is added. Memory and time are as expected, the loss falls, only more slowly and with more
noise.

## Example

```python bad
for i, (x, y) in enumerate(loader):
    optimizer.zero_grad()  # expect: zero-grad-per-micro-step
    loss = criterion(model(x), y) / accum_steps
    loss.backward()
    if (i + 1) % accum_steps == 0:
        optimizer.step()
```

```python good
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / accum_steps
    loss.backward()
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```

At the top of the loop it may stay if it runs on the first micro-step of a window only:

```python good
for i, (x, y) in enumerate(loader):
    if i % accum_steps == 0:
        optimizer.zero_grad()
    loss = criterion(model(x), y) / accum_steps
    loss.backward()
    if (i + 1) % accum_steps == 0:
        optimizer.step()
```

## What to do

Zero once per window: after the step, under the same gate. Do not drop the division of the loss to make up for
the small updates: that restores the size of one micro-batch's gradient and still discards three of four.
`model.zero_grad()` and `p.grad = None` erase as well; look for a second one.

## Fix

Unsafe: moves `zero_grad()` behind the step. An update is then made from all micro-batches of its window; it was
made from the last one. What is left over of an epoch after its last window is no update of its own then, and
may be told as a `dropped-tail-window`.

## Source

- Gradient accumulation: `zero_grad()` stands with the step under the gate
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation)
- Optimizer.zero_grad (https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html)
"""

from amplint.catalogue.amounts import at_least, losing_again
from amplint.catalogue.remedy import TAILS, Move, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import ANY_LENGTH, STEPS, Kind
from amplint.protocol.state import Moment


def _of_this_window(moment: Moment) -> bool:
    """Whether part of each window was erased, by a gate that is known to open within it: one that counts to another
    number, which somebody sets, may open once in a thousand windows."""
    zeroed, step = moment.last[Kind.ZERO_GRAD].gate, moment.event.gate
    lengths = {one.length for one in (zeroed, step) if one is not None and one.length not in (None, ANY_LENGTH)}
    return losing_again(moment) and (len(lengths) < 2 or all(str(one).isdecimal() for one in lengths))


def _words(moment: Moment) -> dict[str, str]:
    """When the gradients are erased: under a gate, or by what a framework has prepared, at the boundary alone."""
    zeroed = moment.last[Kind.ZERO_GRAD]
    if "boundary" in zeroed.detail:
        return {"when": "before the last backward of each window, which is when the prepared optimizer zeroes"}
    if zeroed.gate is not None:
        return {"when": "before the last backward of each window, by a gate that opens on its micro-step"}
    return {"when": "on every micro-step though the optimizer steps once per window"}


RULE = Rule(
    tier=Tier.ERROR,
    message="gradients are erased {when}: only the last micro-batch of each window counts",
    advice="zero the gradients once per window, after the optimizer's step",
    when=(Condition(STEPS, lost=at_least(1), micro_steps=1, steps=at_least(1), also=_of_this_window),),
    words=_words,
    place=Kind.ZERO_GRAD,
    because=((Kind.BACKWARD, "what this made is erased"), (Kind.STEP, "the step misses it")),
    hides=("dropped-tail-window", "step-per-micro-step"),
    remedy=unsafe(
        "zero the gradients once per window, after the step",
        Move(Kind.ZERO_GRAD, after=(Kind.UPDATE, Kind.SCALER_STEP, Kind.STEP)),
        reveals=TAILS,
    ),
)
