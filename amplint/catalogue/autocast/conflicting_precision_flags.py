"""float16 and bfloat16 are both switched on, or one of them for a model that was loaded in the other.

## What happens

transformers' `TrainingArguments` and DeepSpeed's configuration refuse two flags when they are made. Nothing is trained.

Parameters that were loaded in bfloat16 have gradients in bfloat16, which the loss scaler of `fp16=True` cannot unscale:
torch raises at the first step. With `bf16=True` there is no loss scale, and parameters in float16 lose what is small: a
gradient below 6e-8 is zero, and so is an update of less than a two-thousandth of its weight.

## Why it is easy to miss

The two flags stand apart from each other, one of them often in a base configuration or left over from another GPU. The
dtype of a checkpoint is a word among others in the call that loads it, copied from an example for inference.

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

The flag against the dtype that the model was loaded in:

```python bad whole static-only -- needs transformers
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def main(dataset):
    model = AutoModelForCausalLM.from_pretrained("gpt2", dtype=torch.bfloat16)
    arguments = TrainingArguments("out", fp16=True)  # expect: conflicting-precision-flags
    Trainer(model=model, args=arguments, train_dataset=dataset).train()
```

```python good whole static-only -- needs transformers
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def main(dataset):
    model = AutoModelForCausalLM.from_pretrained("gpt2", dtype=torch.bfloat16)
    arguments = TrainingArguments("out", bf16=True)
    Trainer(model=model, args=arguments, train_dataset=dataset).train()
```

## Messages

- `"_amp_foreach_non_finite_check_and_unscale_cuda" not implemented for 'BFloat16'` (NotImplementedError)
- `At most one of fp16 and bf16 can be True, but not both` (ValueError, transformers)
- `bfloat16 and fp16 modes cannot be simultaneously enabled` (AssertionError, DeepSpeed)

## What to do

Keep `bf16` where the hardware has it (Ampere and later): it needs no loss scaling. Else keep `fp16`. Load what is
trained whole in float32, or in the precision of the flag if that is bfloat16.

## Fix

None. Which of the two was meant, only its author knows.

## Source

- `transformers/training_args.py`, `TrainingArguments.__post_init__`
  (https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/training_args.py)
- `deepspeed/runtime/config.py`, `DeepSpeedConfig`
  (https://github.com/deepspeedai/DeepSpeed/blob/v0.18.2/deepspeed/runtime/config.py)
"""

from amplint.catalogue.rule import Rule, Tier
from amplint.protocol.facts import HALF_LOADED, Fact

_PAIRS = (("fp16", "bf16"), ("fp16_full_eval", "bf16_full_eval"))
_MAKERS = ("TrainingArguments", "Config")
_AGAINST = {
    ("bfloat16", "fp16"): "the loss scaler of `fp16` cannot unscale their gradients, torch raises",
    ("float16", "bf16"): "with `bf16` nothing scales the loss, and small gradients and updates are lost",
}


def _conflicting(fact: Fact) -> dict[str, str] | None:
    if fact.called == HALF_LOADED:
        return _against(str(fact.arguments["dtype"]), str(fact.arguments["flag"]))
    library = fact.called.partition(".")[0]
    if library not in ("transformers", "trl", "deepspeed") or not fact.called.endswith(_MAKERS):
        return None
    for first, second in _PAIRS:
        if fact.arguments.get(first) is True and fact.arguments.get(second) is True:
            what = f"`{first}` and `{second}` are both true: the configuration is refused, and nothing is trained"
            cure = f"keep one of them: `{second}` where the hardware has bfloat16, for it needs no loss scaling"
            return {"what": what, "remedy": cure}
    return None


def _against(dtype: str, flag: str) -> dict[str, str] | None:
    """What comes of a flag with parameters that were loaded in a dtype."""
    result = _AGAINST.get((dtype, flag))
    if result is None:
        return None
    cure = "load the model in float32" + (", or set `bf16` instead" if flag == "fp16" else "")
    return {"what": f"the model is loaded in {dtype}, against `{flag}`: {result}", "remedy": cure}


RULE = Rule(
    tier=Tier.ERROR,
    message="{what}",
    advice="{remedy}",
    find=_conflicting,
)
