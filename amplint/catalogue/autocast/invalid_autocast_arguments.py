"""`autocast` is called with arguments that it does not take.

## What happens

A TypeError, and nothing is computed. `torch.autocast` and `torch.amp.autocast` need a device type;
`torch.cuda.amp.autocast` is for CUDA alone and has no such argument.

## Why it is easy to miss

The three spellings look alike and are mixed when code is moved from `torch.cuda.amp` to `torch.amp`. In an
evaluation loop, or behind a flag, the call may be reached for the first time hours into the run.

## Example

```python bad static-only -- torch raises: autocast.__init__() missing 1 required positional argument: 'device_type'
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast(dtype=torch.bfloat16):  # expect: invalid-autocast-arguments
        loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
```

```python good
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
```

```python bad static-only -- torch raises: autocast.__new__() got an unexpected keyword argument 'device_type'
with torch.cuda.amp.autocast(device_type="cuda", dtype=torch.float16):  # expect: invalid-autocast-arguments
    logits = model(loader[0][0])
```

## Messages

- `autocast.__init__() missing 1 required positional argument: 'device_type'` (TypeError)
- `autocast.__new__() got an unexpected keyword argument 'device_type'` (TypeError, torch 2.13)

## What to do

Write `torch.autocast(device_type="cuda", dtype=torch.float16)`. The device type is a string: for a
`torch.device` write `device.type`. Do not drop the argument to go back to `torch.cuda.amp.autocast`, which is
deprecated since torch 2.4, and do not pass the dtype first: by position, the device type comes first.

## Source

- Autocasting (https://docs.pytorch.org/docs/stable/amp.html#autocasting)
- `torch/amp/autocast_mode.py` and `torch/cuda/amp/autocast_mode.py` of torch 2.13
"""

from amplint.catalogue.rule import Rule, Tier
from amplint.protocol.facts import Fact

_CUDA_ONLY = frozenset({"torch.cuda.amp.autocast", "torch.cuda.amp.autocast_mode.autocast"})
_ANY_DEVICE = frozenset({"torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast"})


def _invalid(fact: Fact) -> dict[str, str] | None:
    if fact.called in _CUDA_ONLY and "device_type" in fact.arguments:
        return {"called": fact.called, "why": "it is for CUDA alone and has no `device_type` (a TypeError)"}
    if fact.called in _ANY_DEVICE and fact.whole and not {0, "device_type"} & fact.arguments.keys():
        return {"called": fact.called, "why": "`device_type` is required (a TypeError)"}
    return None


RULE = Rule(
    tier=Tier.ERROR,
    message="`{called}` does not take these arguments: {why}",
    advice='write `torch.autocast(device_type="cuda", dtype=...)`',
    find=_invalid,
)
