"""Gradients are clipped after the optimizer has used them.

## What happens

The update was made from unclipped gradients. The clip changes only what `zero_grad()` erases next: training is
exactly what it would be without clipping. Where gradients are not erased before the next backward, the clipped
remainder is added to the next ones.

## Why it is easy to miss

The call is there and returns a norm, so the log shows gradient norms. Only a spike that should have been cut,
and goes into the weights, tells the difference.

## Example

```python bad
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    clip_grad_norm_(model.parameters(), 1.0)  # expect: clip-after-step
    optimizer.zero_grad()
```

```python good
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
```

## What to do

Clip between the backward and the optimizer's step; with a GradScaler after `scaler.unscale_(optimizer)` and
before `scaler.step(optimizer)`. With accumulation the place is under the gate, after the last backward of the
window. Moving the clip alone above `scaler.step()` is half a mend: it then meets scaled gradients
(`clip-before-unscale`).

## Fix

Unsafe: moves the clip before the step, with the unscaling that it needs. Gradients are clipped for the first
time: where the threshold bites, the updates become smaller.

## Source

- clip_grad_norm_ modifies gradients in place
  (https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html)
- gradient clipping (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping)
"""

from amplint.catalogue.amounts import after_a_backward, at_least
from amplint.catalogue.remedy import Insert, Move, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads

RULE = Rule(
    tier=Tier.ERROR,
    message="gradients are clipped after the optimizer has used them: the clip has no effect",
    advice="clip between the backward and the optimizer's step",
    when=(
        Condition(Kind.CLIP, used=True, micro_steps=0, led_by_clip=False),
        Condition(Kind.CLIP, grads=Grads.NONE, steps=at_least(1), lost=0, led_by_clip=False, also=after_a_backward),
    ),
    because=((Kind.STEP, "the optimizer has stepped here"),),
    remedy=unsafe(
        "clip before the step",
        Move(Kind.CLIP, before=(Kind.SCALER_STEP, Kind.STEP)),
        (Insert(Kind.UNSCALE, before=(Kind.SCALER_STEP,)), Move(Kind.CLIP, before=(Kind.SCALER_STEP,))),
    ),
)
