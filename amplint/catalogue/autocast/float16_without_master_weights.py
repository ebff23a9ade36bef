"""A model that was cast to float16 is trained as it is: small updates are rounded away.

## What happens

float16 has eleven significant bits. An update that is less than about 1/4096 of its weight is lost when it is added:
the weight stays exactly what it was. With usual learning rates that is most updates, so that training stalls.
Adam keeps its moments in float16 too: squares of gradients below 1e-4 become zero, and its epsilon of 1e-8 is zero, so
that it can divide by zero.

## Why it is easy to miss

The loss goes down at first, while gradients are large, and stays higher than it would. `.half()` halves the memory, and
is right for inference.

## Example

```python bad
model = nn.Linear(4, 3).half()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x.half()).float(), y)
    loss.backward()
    optimizer.step()  # expect: float16-without-master-weights
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

A model that is loaded in float16 is one.

```python bad whole static-only -- needs transformers
import torch
from transformers import AutoModelForCausalLM


def main(loader):
    model = AutoModelForCausalLM.from_pretrained("gpt2", dtype=torch.float16).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for batch in loader:
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()  # expect: float16-without-master-weights
```

```python good whole static-only -- needs transformers and peft
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM


def main(loader):
    model = AutoModelForCausalLM.from_pretrained("gpt2", dtype=torch.float16).cuda()
    model = get_peft_model(model, LoraConfig())  # what is trained is in float32
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for batch in loader:
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
```

## What to do

Leave the parameters in float32 and run the forward under `torch.autocast`, with a `GradScaler` for float16. To save the
memory of the float32 weights use an optimizer that keeps a copy of its own, or train few parameters, in float32, of a
model whose others are frozen.

## Fix

None. Float32 weights under autocast, master weights and bfloat16 all help, at different costs.

## Source

- Mixed Precision Training, section 3.1, "FP32 master copy of weights" (https://arxiv.org/abs/1710.03740)
- Automatic mixed precision: do not call `half()` on the model
  (https://docs.pytorch.org/docs/stable/amp.html#torch.autocast)
- `from_pretrained(dtype=...)` casts all parameters: `modeling_utils.py` of transformers 5.23; adapters are cast
  to float32 by default: `autocast_adapter_dtype` of `get_peft_model`, `mapping_func.py` of peft
- `torch/optim/adam.py` of torch 2.13: the state is made with `torch.zeros_like(p)`
"""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads
from amplint.protocol.precision import Precision
from amplint.protocol.state import Moment


def _is_half(moment: Moment) -> bool:
    return moment.event.parameters is Precision.FLOAT16


RULE = Rule(
    tier=Tier.ERROR,
    message="the optimizer steps on parameters that are float16 and has no copy in float32: updates below about 1/4096 "
    "of a weight are rounded away",
    advice="leave the model in float32 and run its forward under `torch.autocast` instead of casting it",
    when=(Condition(Kind.STEP, also=_is_half, grads={Grads.PLAIN, Grads.SCALED, Grads.MIXED}),),
    because=((Kind.BACKWARD, "the gradients are made here"),),
    hides=("float16-without-scaler",),
)
