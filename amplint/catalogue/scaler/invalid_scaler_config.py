"""A GradScaler is configured with factors that torch refuses.

## What happens

`GradScaler` raises when it is made, if the growth factor is 1 or less or the backoff factor is 1 or more. Such
a scale could only fall, or could never fall: with a backoff factor of 1 a scale that overflows stays where it
is, and steps are skipped for as long as it does.

## Why it is easy to miss

A disabled scaler checks nothing, and a CUDA scaler disables itself on a machine without CUDA: the script passes
on a laptop and ends at its first line of training on the GPU machine.

## Example

```python bad static-only -- torch raises: The growth factor must be > 1.0.
grad_scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14, growth_factor=0.5)  # expect: invalid-scaler-config
```

```python good
grad_scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14, growth_factor=2.0, backoff_factor=0.5)
```

```python bad static-only -- torch raises: The backoff factor must be < 1.0.
grad_scaler = torch.amp.GradScaler("cpu", backoff_factor=1.0)  # expect: invalid-scaler-config
```

## Messages

- `The growth factor must be > 1.0.` (AssertionError)
- `The backoff factor must be < 1.0.` (AssertionError)

## What to do

Leave both factors at their defaults, 2.0 and 0.5. To start lower, lower `init_scale`; to let the scale grow
less often, raise `growth_interval` (2000). To keep the scale from growing at all, use a growth interval longer
than the run, not a growth factor of 1.

## Fix

None. Which factor was meant, only its author knows.

## Source

- Gradient scaling (https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling)
- `torch/amp/grad_scaler.py` of torch 2.13, `GradScaler.__init__`
"""

from amplint.catalogue.rule import Rule, Tier
from amplint.protocol.facts import Fact


def _invalid(fact: Fact) -> dict[str, str] | None:
    if not fact.called.endswith("GradScaler") or fact.arguments.get("enabled") is False:
        return None
    first = 1 if fact.called in _WITH_DEVICE else 0
    growth = _number(fact, "growth_factor", first + 1)
    backoff = _number(fact, "backoff_factor", first + 2)
    if growth is not None and growth <= 1:
        return {"why": f"a growth factor of {growth:g} never lets the scale grow"}
    if backoff is not None and backoff >= 1:
        return {"why": f"a backoff factor of {backoff:g} never lets the scale shrink"}
    return None


_WITH_DEVICE = frozenset({"torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler", "torch.GradScaler"})


def _number(fact: Fact, name: str, position: int) -> float | None:
    value = fact.arguments.get(name, fact.arguments.get(position))
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


RULE = Rule(
    tier=Tier.ERROR,
    message="{why}: torch raises an AssertionError when the scaler is made",
    advice="a growth factor is greater than 1 (2.0), a backoff factor less than 1 (0.5)",
    find=_invalid,
)
