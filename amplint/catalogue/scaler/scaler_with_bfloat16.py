"""The loss is scaled although the forward runs in bfloat16.

## What happens

bfloat16 has the exponents of float32: gradients neither vanish nor overflow sooner than there, so the scale has nothing
to save. Since nothing overflows, it doubles every 2000 steps; after some 220,000 steps it is 2**126 and the scaled
gradients themselves overflow: the step is skipped, the scale halves, and so on for the rest of the run. Every step
reads all gradients twice more, and waits for the device to say whether one was infinite.

## Why it is easy to miss

The loop is the one that float16 needs, and a change of the dtype leaves it working.

## Example

```python bad static-only -- on a CPU a scaler is a rehearsal for CUDA, and live nothing is said of it
grad_scaler = torch.amp.GradScaler("cpu")  # expect: scaler-with-bfloat16
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = criterion(model(x), y)
    grad_scaler.scale(loss).backward()
    grad_scaler.step(optimizer)
    grad_scaler.update()
```

```python good
dtype = torch.bfloat16
grad_scaler = torch.amp.GradScaler("cpu", enabled=dtype == torch.float16)
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=dtype):
        loss = criterion(model(x), y)
    grad_scaler.scale(loss).backward()
    grad_scaler.step(optimizer)
    grad_scaler.update()
```

## What to do

Make the scaler with `enabled=dtype == torch.float16`: its calls then pass everything through, and one loop serves both
dtypes.

## Fix

None. To take the scaler out changes every line that it stands in, and it does no harm.

## Source

- Automatic mixed precision package, Gradient Scaling: what underflows is float16
  (https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling)
- `torch/amp/grad_scaler.py` of torch 2.13, `_maybe_opt_step`: `.item()` of what was found
"""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads
from amplint.protocol.precision import Precision

RULE = Rule(
    tier=Tier.WARNING,
    message="the loss is scaled although the forward runs in bfloat16, which has the exponents of float32: the scale "
    "saves nothing and doubles until the scaled gradients overflow",
    advice="make the scaler with an `enabled=` that is true where autocast's dtype is float16, and there alone; where "
    "it is bfloat16 in every run, take the scaler out",
    when=(
        Condition(
            Kind.SCALER_STEP,
            grads={Grads.SCALED, Grads.PLAIN},
            forward=Precision.BFLOAT16,
        ),
    ),
    place=Kind.SCALER_CREATED,
    because=((Kind.BACKWARD, "the loss that comes from a forward in bfloat16 is back-propagated here"),),
)
