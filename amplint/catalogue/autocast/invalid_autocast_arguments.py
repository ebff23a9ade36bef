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

## Fix

Safe: names the device "cuda" where none is named, or takes the class from where it has that argument. As it stands
the call raises. No number of a run changes.

## Source

- Autocasting (https://docs.pytorch.org/docs/stable/amp.html#autocasting)
- `torch/amp/autocast_mode.py` and `torch/cuda/amp/autocast_mode.py` of torch 2.13
"""

from amplint.catalogue.remedy import AddArgument, safe
from amplint.catalogue.renames import TO_AMP
from amplint.catalogue.rule import Rule, Tier
from amplint.protocol.facts import Fact, Public

_CUDA_ONLY = frozenset({"torch.cuda.amp.autocast", "torch.cuda.amp.autocast_mode.autocast"})
_DTYPES = frozenset(f"torch.{name}" for name in ("float16", "bfloat16", "half", "float32", "float"))
_UNCALLED = {
    "decorates": "it is not called, so that the function itself becomes its first argument",
    "entered": "the class itself cannot be entered, only what a call of it makes (a TypeError)",
}
_ANY_DEVICE = frozenset({"torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast"})


def _invalid(fact: Fact) -> dict[str, str] | None:
    if fact.called in _CUDA_ONLY | _ANY_DEVICE and fact.used in _UNCALLED:
        return {"called": fact.called, "why": _UNCALLED[fact.used]}
    if fact.called in _CUDA_ONLY and "device_type" in fact.arguments:
        return {"called": fact.called, "why": "it is for CUDA alone and has no `device_type` (a TypeError)"}
    if fact.called in _ANY_DEVICE and fact.whole and not {0, "device_type"} & fact.arguments.keys():
        return {"called": fact.called, "why": "`device_type` is required (a TypeError)"}
    given = fact.arguments.get("device_type", fact.arguments.get(0))
    if fact.called in _ANY_DEVICE and _no_string(given):
        return {"called": fact.called, "why": "`device_type` must be a string (a ValueError)"}
    return None


def _no_string(value: object) -> bool:
    """Whether a device type is known to be something else: a flag, a number, a dtype, a `torch.device`."""
    if isinstance(value, Public):
        return value.name == "torch.device()" or value.name in _DTYPES
    return value is not None and not isinstance(value, str)


RULE = Rule(
    tier=Tier.ERROR,
    message="`{called}` does not take these arguments: {why}",
    advice='write `torch.autocast(device_type="cuda", dtype=...)`',
    find=_invalid,
    remedy=safe("name the device", AddArgument('device_type="cuda"'), TO_AMP),
)
