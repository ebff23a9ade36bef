"""The forward runs under float16 autocast, and its loss is computed outside of the region.

## What happens

The region ends with the forward, and the criterion is given float16 outputs. Inside it, autocast casts what torch's
criteria are given to float32; outside nobody does. Cross entropy takes the softmax, its logarithm and the mean
of the batch in float16: beyond 65504 they are infinite, and small differences are rounded away. A criterion that meets
a float32 target, such as the mean squared error, is promoted by it; that is the target's doing, and changes with it.

## Why it is easy to miss

Nothing fails, and the loss looks the same to three digits. What is lost shows in a sum over many elements, in a target
of large numbers, or late in a training when the differences are small.

## Example

```python bad static-only -- the dtypes that a criterion is given are not looked at while it runs
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        out = model(x)
    loss = F.cross_entropy(out, y)  # expect: loss-outside-autocast
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

```python good
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        out = model(x)
        loss = F.cross_entropy(out, y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

Outputs that are cast are right outside too:

```python good
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        out = model(x)
    loss = F.cross_entropy(out.float(), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

## What to do

Take the criterion into the region, one level to the right; or cast what it is given, with `.float()`.

## Fix

None. What may come along into the region depends on what else happens between the forward and the loss.

## Source

- Autocasting (https://docs.pytorch.org/docs/stable/amp.html#autocasting): "autocast should wrap only the forward
  pass(es) of your network, including the loss computation(s)"
- Operations that autocast runs in float32 (https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference);
  `AT_FORALL_FP32` in `ATen/autocast_mode.h` of torch 2.13
"""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.precision import Precision

RULE = Rule(
    tier=Tier.WARNING,
    message="the forward ran under float16 autocast, and its loss is computed outside of the region: nothing casts the "
    "float16 outputs to float32 for the criterion, as autocast would",
    advice="take the criterion into the region, or cast the outputs with `.float()`",
    when=(
        Condition(
            Kind.CRITERION,
            also=lambda moment: moment.event.forward is Precision.FLOAT16 and moment.event.region is Precision.OFF,
        ),
    ),
)
