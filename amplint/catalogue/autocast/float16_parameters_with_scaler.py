"""Parameters that are float16 themselves go through a gradient scaler: torch raises.

## What happens

A gradient has the dtype of its parameter. The scaler divides gradients by the loss scale in place, and small ones would
be lost in float16 then: `GradScaler` refuses to unscale them. `scaler.unscale_()` raises, or `scaler.step()`, which
unscales where nobody did.

## Why it is easy to miss

Mixed precision sounds like a model in float16. It is not: under autocast the parameters stay float32 and only the
operations run in float16. The forward and the backward of a model after `.half()` go well, and so does every run in
which the scaler is disabled.

## Example

```python bad static-only -- torch raises: Attempting to unscale FP16 gradients.
model = nn.Linear(4, 3).half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)  # expect: float16-parameters-with-scaler
    scaler.update()
```

```python good
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

A trainer makes the scaler where it is asked for `fp16`:

```python bad whole static-only -- needs transformers
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def main(dataset):
    model = AutoModelForCausalLM.from_pretrained("gpt2", dtype=torch.float16)
    arguments = TrainingArguments("out", fp16=True)  # expect: float16-parameters-with-scaler
    Trainer(model=model, args=arguments, train_dataset=dataset).train()
```

```python good whole static-only -- needs transformers
import torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments


def main(dataset):
    model = AutoModelForCausalLM.from_pretrained("gpt2", dtype=torch.float32)
    arguments = TrainingArguments("out", fp16=True)
    Trainer(model=model, args=arguments, train_dataset=dataset).train()
```

## Messages

- `Attempting to unscale FP16 gradients.` (ValueError)

## What to do

Leave the model in float32, without `.half()` or `.to(torch.float16)`, and run its forward under
`torch.autocast("cuda", dtype=torch.float16)`; for transformers' Trainer load it in float32. A frozen part may be
float16; what is trained may not.

## Fix

None. To load the weights in float32 costs memory, to train in bfloat16 asks for a device that can.

## Source

- Automatic mixed precision: do not call `half()` on the model
  (https://docs.pytorch.org/docs/stable/amp.html#torch.autocast)
- `torch/amp/grad_scaler.py` of torch 2.13, `_unscale_grads_`
"""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.facts import HALF_LOADED, Fact
from amplint.protocol.ledger import Grads, Stage
from amplint.protocol.precision import Precision
from amplint.protocol.state import Moment

_CAST = "leave the model in float32 and run its forward under `torch.autocast` instead of casting it"
_LOAD = "load the model in float32: `fp16` runs its forward in float16"


def _is_half(moment: Moment) -> bool:
    return moment.event.parameters is Precision.FLOAT16


def _loaded_half(fact: Fact) -> dict[str, str] | None:
    half = fact.called == HALF_LOADED and fact.arguments == {"dtype": "float16", "flag": "fp16"}
    return {"remedy": _LOAD} if half else None


RULE = Rule(
    tier=Tier.ERROR,
    message="the parameters are float16, and so are their gradients: the scaler refuses to unscale them, torch raises",
    advice="{remedy}",
    when=(
        Condition(
            {Kind.UNSCALE, Kind.SCALER_STEP}, also=_is_half, stage=Stage.READY, grads={Grads.SCALED, Grads.PLAIN}
        ),
    ),
    words=lambda moment: {"remedy": _CAST},
    find=_loaded_half,
)
