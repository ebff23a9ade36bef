"""float16 and bfloat16 are both switched on.

## What happens

transformers' `TrainingArguments` and DeepSpeed's configuration refuse it when they are made. Nothing is trained.

## Why it is easy to miss

The two flags stand apart from each other, one of them often in a base configuration or left over from another GPU.

## Example

```python bad whole static-only -- needs transformers
from transformers import TrainingArguments

arguments = TrainingArguments("out", fp16=True, bf16=True)  # expect: conflicting-precision-flags
```

```python good whole static-only -- needs transformers
import torch
from transformers import TrainingArguments

good = torch.cuda.is_bf16_supported()
arguments = TrainingArguments("out", fp16=not good, bf16=good)
```

## Messages

- `At most one of fp16 and bf16 can be True, but not both` (ValueError, transformers)
- `bfloat16 and fp16 modes cannot be simultaneously enabled` (AssertionError, DeepSpeed)

## What to do

Keep `bf16` where the hardware has it (Ampere and later): it needs no loss scaling. Else keep `fp16`.

## Fix

None. Which of the two was meant, only its author knows.

## Source

- `transformers/training_args.py`, `TrainingArguments.__post_init__`
  (https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/training_args.py)
- `deepspeed/runtime/config.py`, `DeepSpeedConfig`
  (https://github.com/deepspeedai/DeepSpeed/blob/v0.18.2/deepspeed/runtime/config.py)
"""

from amplint.catalogue.rule import Rule, Tier
from amplint.protocol.facts import Fact

_PAIRS = (("fp16", "bf16"), ("fp16_full_eval", "bf16_full_eval"))
_MAKERS = ("TrainingArguments", "Config")


def _conflicting(fact: Fact) -> dict[str, str] | None:
    library = fact.called.partition(".")[0]
    if library not in ("transformers", "trl", "deepspeed") or not fact.called.endswith(_MAKERS):
        return None
    for first, second in _PAIRS:
        if fact.arguments.get(first) is True and fact.arguments.get(second) is True:
            return {"first": first, "second": second}
    return None


RULE = Rule(
    tier=Tier.ERROR,
    message="`{first}` and `{second}` are both true: the configuration is refused, and nothing is trained",
    advice="keep one of them: `{second}` where the hardware has bfloat16, for it needs no loss scaling",
    find=_conflicting,
)
