"""A number beyond 65504 meets a float16 tensor, which cannot hold it.

## What happens

The largest float16 number is 65504. `masked_fill(mask, -1e9)` on a half tensor raises a RuntimeError; `x - 1e9` is
minus infinity, and a row of a softmax in which all are minus infinity is NaN, and with it the loss.

## Why it is easy to miss

In float32 and bfloat16 the same line is right, and under autocast the same name may be float32 after a softmax and
float16 after a matrix product.

## Example

```python bad static-only -- torch raises: value cannot be converted to type c10::Half without overflow
x, y = loader[0]
with torch.autocast("cpu", dtype=torch.float16):
    scores = torch.matmul(x, x.T)
    scores = scores.masked_fill(scores < 0, -1e9)  # expect: float16-overflow-literal
```

```python good
x, y = loader[0]
with torch.autocast("cpu", dtype=torch.float16):
    scores = torch.matmul(x, x.T)
    scores = scores.masked_fill(scores < 0, torch.finfo(scores.dtype).min)
```

## Messages

- `value cannot be converted to type c10::Half without overflow` (RuntimeError; `at::Half` in older versions)

## What to do

Write `torch.finfo(x.dtype).min` or `float("-inf")`, or mask after `.float()`.

## Fix

None. Which number is large enough, and whether an infinity is meant, depends on what the result goes into.

## Source

- `torch.finfo` (https://docs.pytorch.org/docs/stable/type_info.html#torch-finfo): 65504 is the largest float16
- Operations that autocast runs in float16 (https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference)
"""

from amplint.catalogue.rule import Rule, Tier
from amplint.protocol.facts import Fact

LARGEST = 65504.0


def _overflows(fact: Fact) -> dict[str, str] | None:
    value = fact.arguments.get("number")
    if fact.called != "float16" or not isinstance(value, (int, float)) or not LARGEST < abs(value) < float("inf"):
        return None
    becomes = "the result is infinite" if fact.arguments["operation"] in ("+", "-") else "torch raises a RuntimeError"
    return {"number": f"{value:g}", "becomes": becomes}


RULE = Rule(
    tier=Tier.ERROR,
    message="{number} is beyond 65504, the largest number of the float16 tensor that it meets: {becomes}",
    advice="write `torch.finfo(x.dtype).min`, or go on in float32 with `.float()`",
    find=_overflows,
)
