"""`torch.cuda.amp` is deprecated: each call warns, and the code is tied to CUDA.

## What happens

Nothing yet: `torch.cuda.amp.autocast`, `GradScaler`, `custom_fwd` and `custom_bwd` do what their namesakes in
`torch.amp` do for CUDA; only `autocast` means float16 even in a region of bfloat16. Since torch 2.4 each of them gives
a FutureWarning, and a later torch may be without them.

## Why it is easy to miss

A warning of this kind is shown once for each place, among those of all libraries, and every tutorial from before 2024
writes it so. The rule speaks once in a file, and only where the declared versions of torch come up to 2.4 and all of
them have the namesake: `autocast` since 2.0, `GradScaler` since 2.3. What is right for older versions too, such as an
import that falls back or a branch on the version, is left alone.

## Example

```python bad static-only -- torch warns, which the tests take for an error
from torch.cuda.amp import GradScaler, autocast

grad_scaler = GradScaler()  # expect: deprecated-cuda-amp
for x, y in loader:
    optimizer.zero_grad()
    with autocast():
        loss = criterion(model(x), y)
    grad_scaler.scale(loss).backward()
    grad_scaler.step(optimizer)
    grad_scaler.update()
```

```python good
from torch.amp import GradScaler, autocast

grad_scaler = GradScaler("cpu")
for x, y in loader:
    optimizer.zero_grad()
    with autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    grad_scaler.scale(loss).backward()
    grad_scaler.step(optimizer)
    grad_scaler.update()
```

Code that is ready for several versions is right:

```python good static-only -- torch warns, which the tests take for an error
try:
    from torch.amp import GradScaler
except ImportError:
    from torch.cuda.amp import GradScaler

grad_scaler = GradScaler()
```

## Messages

- `torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', args...)` instead.
  (FutureWarning)
- `torch.cuda.amp.GradScaler(args...)` is deprecated. Please use `torch.amp.GradScaler('cuda', args...)` instead.
  (FutureWarning)

## What to do

Write `torch.amp.autocast("cuda", ...)` and `torch.amp.GradScaler("cuda", ...)`: the device comes first, what was
passed by position moves by one. `custom_fwd` and `custom_bwd` of `torch.amp` take `device_type="cuda"`. If the project
supports torch before 2.4, say so in its dependencies (`pyproject.toml`, `requirements.txt`, `environment.yml`), or with
`versions = {torch = ">=2.1"}` in `[tool.amplint]`.

## Fix

Safe: takes everything from `torch.amp`, with the device "cuda" named; torch does the same in the old names. All of a
file at once, or nothing of it where a use is not clear. The old `autocast` means float16 wherever it stands, the new
one the dtype in force: where the file sets another one, as a region of bfloat16 does, the fix writes
`dtype=torch.float16`; a region that another file opens around this one is not seen. An older torch lacks the new names,
and what is installed is a guess: unsafe where the project asks for torch without any bound, and only shown, never
written, where it allows torch before 2.4, or does not speak of torch at all. No number of a run changes.

## Source

- Automatic mixed precision (https://docs.pytorch.org/docs/stable/amp.html)
- `torch/cuda/amp/autocast_mode.py` and `torch/cuda/amp/grad_scaler.py` of torch 2.13; the deprecation is in the
  release notes of 2.4 (https://github.com/pytorch/pytorch/releases/tag/v2.4.0)
"""

from amplint.catalogue.remedy import safe
from amplint.catalogue.renames import CUDA_AMP, TO_AMP
from amplint.catalogue.rule import Rule, Tier
from amplint.protocol.facts import Fact

_INSTEAD = {
    "autocast": 'torch.amp.autocast("cuda", ...)',
    "GradScaler": 'torch.amp.GradScaler("cuda", ...)',
    "custom_fwd": 'torch.amp.custom_fwd(device_type="cuda")',
    "custom_bwd": 'torch.amp.custom_bwd(device_type="cuda")',
}


_INSTEAD_SINCE = {"autocast": "2.0", "GradScaler": "2.3", "custom_fwd": "2.4", "custom_bwd": "2.4"}
"""The versions of torch from which on `torch.amp` has the namesakes, the first at the latest."""


def _instead_since(fact: Fact) -> tuple[str, str]:
    return "torch", _INSTEAD_SINCE[fact.called.rpartition(".")[2]]


def _deprecated(fact: Fact) -> dict[str, str] | None:
    module, _, name = fact.called.rpartition(".")
    if fact.chosen or module not in CUDA_AMP or name not in _INSTEAD:
        return None
    if "device_type" in fact.arguments:
        return None  # a TypeError, with a rule of its own
    return {"called": f"torch.cuda.amp.{name}", "instead": _INSTEAD[name]}


RULE = Rule(
    tier=Tier.WARNING,
    message="`{called}` is deprecated since torch 2.4: it does the same as its namesake in `torch.amp`, and warns",
    advice="write `{instead}`",
    find=_deprecated,
    once=True,
    since=("torch", "2.4"),
    instead_since=_instead_since,
    begins=("torch", "2.4"),
    remedy=safe('take all of `torch.cuda.amp` from `torch.amp`, for the device "cuda"', TO_AMP),
)
