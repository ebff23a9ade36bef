"""The backward runs inside the autocast region.

## What happens

The backward of an operation runs in the dtype that its forward ran in: the region around it adds nothing to that. But
it stays on while the backward runs, and casts whatever it meets: the matrix products of layers that were kept in
float32 on purpose are now done in half, and so is what is recomputed for a checkpoint, what a gradient hook does, and
the backward of a custom `autograd.Function`. torch says that it is not recommended.

## Why it is easy to miss

Nothing fails, and where every layer ran under autocast anyway hardly a bit changes. It does once a part of the model
is kept in float32.

## Example

```python bad
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
        scaler.scale(loss).backward()  # expect: backward-in-autocast
    scaler.step(optimizer)
    scaler.update()
```

```python good
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

## What to do

End the `with` block after the loss, and take `backward()` one level to the left. A custom function that needs its
forward's autocast state in the backward says so by itself: `torch.amp.custom_fwd` and `torch.amp.custom_bwd`.

## Fix

Safe: ends the region before the backward, where none of the statements that leave it computes anything that autocast
would do in another precision. The backward of an operation runs in the type of its forward anyway. No number of a run
changes.

## Source

- `torch/amp/autocast_mode.py` of torch 2.13, class `autocast`: "Backward passes under autocast are not recommended"
- Automatic mixed precision examples
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training)
"""

from amplint.catalogue.remedy import EndRegion, safe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.precision import LOWER

RULE = Rule(
    tier=Tier.WARNING,
    message="the backward runs inside the autocast region: what is recomputed, hooked or customized in it is cast "
    "down where it expects full precision",
    advice="end the region after the loss, before `backward()`",
    when=(Condition(Kind.BACKWARD, also=lambda moment: moment.event.region in LOWER),),
    remedy=safe(
        "end the autocast region before the backward",
        EndRegion(Kind.BACKWARD),
    ),
)
