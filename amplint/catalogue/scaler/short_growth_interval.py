"""The loss scale is raised after so few steps that it oscillates.

## What happens

After `growth_interval` steps without an overflow the scale doubles, until it overflows again: then a step is skipped
and the scale halves. With the default of 2000 that costs one step in about 2000. With an interval of 20 one step in
about 21 is skipped, 5 % of all batches, and the scheduler and the step count drift apart by as much.

## Why it is easy to miss

Skipped steps are silent. A short interval is written in a test, where it should show the growth, and copied.

## Example

```python bad
grad_scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14, growth_interval=20)  # expect: short-growth-interval
```

```python good
grad_scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)
```

An interval of 500 still costs less than a step in 500:

```python good
grad_scaler = torch.amp.GradScaler("cpu", growth_interval=500)
```

## What to do

Leave the interval at 2000. If the scale begins too low, raise `init_scale` instead.

## Fix

None. Which interval is long enough depends on the run.

## Source

- Gradient scaling, `growth_interval` (https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling)
- `torch/amp/grad_scaler.py` of torch 2.13, `GradScaler.__init__`
"""

from amplint.catalogue.rule import Rule, Tier
from amplint.protocol.facts import Fact

_WITH_DEVICE = frozenset({"torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler", "torch.GradScaler"})
_SHORT = 500


def _short(fact: Fact) -> dict[str, str] | None:
    if not fact.called.endswith("GradScaler") or fact.arguments.get("enabled") is False:
        return None
    position = 4 if fact.called in _WITH_DEVICE else 3
    interval = fact.arguments.get("growth_interval", fact.arguments.get(position))
    if not isinstance(interval, int) or isinstance(interval, bool) or not 0 < interval < _SHORT:
        return None
    return {"interval": str(interval)}


RULE = Rule(
    tier=Tier.WARNING,
    message="the loss scale doubles after {interval} steps without an overflow: it overflows again and again, and up "
    "to one step in {interval} is skipped",
    advice="leave `growth_interval` at 2000; to begin higher, raise `init_scale`",
    find=_short,
)
