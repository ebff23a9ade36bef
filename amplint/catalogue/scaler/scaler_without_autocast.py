"""The loss is scaled, but the forward runs in full precision.

## What happens

A loss scale lifts gradients out of the range in which float16 loses them. Without an autocast region (and with float32
parameters) there is no float16 anywhere: the scale is multiplied in and divided out again. The first steps may
overflow and be skipped, every step reads all gradients once more and waits for the device, and the memory and the time
that mixed precision would have saved are not.

## Why it is easy to miss

The run works, and its numbers are those of float32. Whoever added the scaler believes that it trains in half.

## Example

```python bad static-only -- on a CPU a scaler is a rehearsal for CUDA, and live nothing is said of it
grad_scaler = torch.amp.GradScaler("cpu")  # expect: scaler-without-autocast
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    grad_scaler.scale(loss).backward()
    grad_scaler.step(optimizer)
    grad_scaler.update()
```

```python good
grad_scaler = torch.amp.GradScaler("cpu")
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    grad_scaler.scale(loss).backward()
    grad_scaler.step(optimizer)
    grad_scaler.update()
```

## What to do

Run the forward and the loss under `torch.autocast(device, dtype=torch.float16)`, or train without the scaler
(`enabled=False` leaves the lines as they are).

## Fix

None. Either the forward should run in float16 or the scaler should go.

## Source

- Typical mixed precision training
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training)
- Automatic mixed precision package: mixed precision training in float16 uses autocast and GradScaler together
  (https://docs.pytorch.org/docs/stable/amp.html)
"""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads
from amplint.protocol.precision import Precision

RULE = Rule(
    tier=Tier.WARNING,
    message="the loss is scaled, but its forward runs in full precision: the scale is divided out again and saves "
    "nothing, and nothing is saved by half precision either",
    advice="run the forward under `torch.autocast(device, dtype=torch.float16)`, or make the scaler with "
    "`enabled=False`",
    when=(
        Condition(
            Kind.SCALER_STEP,
            grads={Grads.SCALED, Grads.PLAIN},
            forward=Precision.OFF,
        ),
    ),
    place=Kind.SCALER_CREATED,
    because=((Kind.BACKWARD, "the loss that comes from a forward in full precision is back-propagated here"),),
)
