"""The optimizer steps on every micro-step though a window is intended.

## What happens

If the gradients are zeroed once per window, each of them is used again by every later step of the window: with
four micro-batches the first gradient steps four times, the second three times. Under SGD the updates of a
window add up to about (N + 1) / 2 times what one step would do: 2.5 times for four, 4.5 times for eight. If
they are zeroed each time, nothing is accumulated at all: the batch is one micro-batch, and the division of the
loss by four quarters SGD's learning rate.

## Why it is easy to miss

The gate is there and looks right: it holds `zero_grad()` or the scheduler, only not the step.

## Example

```python bad
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / accum_steps
    loss.backward()
    optimizer.step()  # expect: step-per-micro-step
    if (i + 1) % accum_steps == 0:
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

A gate that holds only a log or an epoch's schedule means no window:

```python good
for i, (x, y) in enumerate(loader):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    if (i + 1) % 4 == 0:
        shown = loss.item()
```

## What to do

Put step, `scaler.update()` and `zero_grad()` under one gate. If no accumulation is wanted, take the division of
the loss out and zero on every iteration. Accelerate and DeepSpeed gate prepared optimizers and engines by
themselves: there the step is called on every micro-step.

## Fix

Unsafe: moves the step, and the unscaling and clipping that belong to it, to where gradients are zeroed. There
is one update per window then, of the sum of its gradients, under the same learning rate. What is left over of
an epoch after its last window is no update of its own then, and may be told as a `dropped-tail-window`.

## Source

- Gradient accumulation (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation)
"""

from amplint.catalogue.amounts import at_least, divided_alone, gated, stepping_words
from amplint.catalogue.remedy import TAILS, Move, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind
from amplint.protocol.state import Moment


def _written_for_windows(moment: Moment) -> bool:
    """Whether a loss divided by the window is stepped on at once, and not just by the number of another gate."""
    return divided_alone(moment) and "guessed" not in moment.last[Kind.BACKWARD].detail


RULE = Rule(
    tier=Tier.ERROR,
    message="the optimizer steps on every micro-step though the code is written for windows: gradients are {what}",
    advice="step only on the micro-step that completes the window",
    when=(
        Condition(Kind.ZERO_GRAD, restacked=at_least(2), also=gated),
        Condition(STEPS, micro_steps=1, lost=0, restacked=0, also=_written_for_windows),
    ),
    place=Kind.REUSED,
    because=((Kind.BACKWARD, "one micro-batch"), (Kind.ZERO_GRAD, "the gradients are zeroed here")),
    words=stepping_words,
    hides=("missing-zero-grad", "repeated-step", "dropped-tail-window"),
    remedy=unsafe(
        "step where the gradients are zeroed, once per window",
        Move(Kind.SCALER_STEP, before=(Kind.UPDATE,)),
        Move(Kind.SCALER_STEP, before=(Kind.ZERO_GRAD,), along=(Kind.UNSCALE, Kind.CLIP, Kind.UPDATE)),
        Move(Kind.STEP, before=(Kind.ZERO_GRAD,), along=(Kind.CLIP,)),
        Move(Kind.SCALER_STEP, before=(Kind.SCHEDULER_STEP,), along=(Kind.UNSCALE, Kind.CLIP, Kind.UPDATE)),
        Move(Kind.STEP, before=(Kind.SCHEDULER_STEP,), along=(Kind.CLIP,)),
        reveals=TAILS,
    ),
)
