"""An epsilon is too small for float16: it is zero, and protects from nothing.

## What happens

The smallest float16 number is 2**-24, about 6e-8; what is 2**-25 (3e-8) or less is rounded to zero. `x + 1e-8` is `x`,
so that a division by it can divide by zero, and `clamp(min=1e-8)` lets zeros through: infinity, NaN.

## Why it is easy to miss

1e-8 and 1e-12 are what papers and float32 code say, and a zero comes only now and then.

## Example

```python bad static-only -- the dtype of a sum is no event
x, y = loader[0]
with torch.autocast("cpu", dtype=torch.float16):
    scores = torch.matmul(x, x.T).sigmoid()
    weights = 1.0 / (scores + 1e-8)  # expect: float16-vanishing-epsilon
```

```python good
x, y = loader[0]
with torch.autocast("cpu", dtype=torch.float16):
    scores = torch.matmul(x, x.T).sigmoid()
    weights = 1.0 / (scores.float() + 1e-8)
```

## What to do

Compute in float32, with `.float()` before the epsilon, or take one that float16 can hold, such as 1e-4 or
`torch.finfo(x.dtype).eps`.

## Fix

None. A larger epsilon changes the result where the other summand is small; how small it gets, only a run knows.

## Source

- `torch.finfo` (https://docs.pytorch.org/docs/stable/type_info.html#torch-finfo)
- Operations that autocast runs in float16 (https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference)
"""

from amplint.catalogue.rule import Rule, Tier
from amplint.protocol.facts import Fact

ROUNDED_TO_ZERO = 2.0**-25
_GUARDS = frozenset({"+", "clamp", "clamp_", "clamp_min"})


def _vanishes(fact: Fact) -> dict[str, str] | None:
    value = fact.arguments.get("number")
    if fact.called != "float16" or not isinstance(value, (int, float)) or fact.arguments["operation"] not in _GUARDS:
        return None
    return {"number": f"{value:g}"} if 0 < value <= ROUNDED_TO_ZERO else None


RULE = Rule(
    tier=Tier.ERROR,
    message="{number} is zero in the float16 tensor that it meets: it protects from no division by zero",
    advice="compute in float32 with `.float()`, or take an epsilon that float16 can hold (1e-4)",
    find=_vanishes,
)
