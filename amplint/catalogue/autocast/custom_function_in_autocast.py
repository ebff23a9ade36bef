"""A custom autograd function runs under autocast, and nothing makes its backward run in the same precision.

## What happens

Autocast casts what the products inside the function's `forward` are given, and what they return is float16 or
bfloat16. The `backward` runs outside of the region, where nobody casts: the gradient that arrives has the lower
precision, the tensors that were saved are what they were, float32 as a rule, and their product raises.

## Why it is easy to miss

The function was written and tested in float32, alone. `torch.autograd.gradcheck` passes. It fails in the first
backward under autocast, in a frame that shows the engine and not the model, and only where the saved tensors are
float32: behind a layer that autocast has run, it may pass.

## Example

```python bad static-only -- torch raises in the backward
class Product(torch.autograd.Function):  # expect: custom-function-in-autocast
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return gradient @ weight.t(), x.t() @ gradient


weight = nn.Parameter(torch.randn(4, 3))
optimizer = torch.optim.SGD([weight], lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = criterion(Product.apply(x, weight), y)
    loss.backward()
    optimizer.step()
```

```python good
class Product(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return gradient @ weight.t(), x.t() @ gradient


weight = nn.Parameter(torch.randn(4, 3))
optimizer = torch.optim.SGD([weight], lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = criterion(Product.apply(x, weight), y)
    loss.backward()
    optimizer.step()
```

## Messages

- `RuntimeError: expected m1 and m2 to have the same dtype, but got: ... != float`
- `RuntimeError: expected scalar type Half but found Float`

## What to do

Decorate `forward` with `torch.amp.custom_fwd(device_type=...)` and `backward` with `torch.amp.custom_bwd(...)`: the
backward then runs under the autocast of its forward. With `cast_inputs=torch.float32` the function runs in full
precision, and autocast is off inside it. A function that casts what it saves itself needs neither.

## Fix

None. In which precision the backward has to run depends on what the function computes.

## Source

- Autocast and custom autograd functions
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#autocast-and-custom-autograd-functions)
- `custom_bwd`: "ensures that backward executes with the same autocast state as forward"
  (https://docs.pytorch.org/docs/stable/amp.html#torch.amp.custom_bwd)
"""

from amplint.catalogue.rule import Rule, Tier
from amplint.protocol.facts import Fact


def _find(fact: Fact) -> dict[str, str] | None:
    if fact.called != "torch.autograd.Function" or fact.used != "derived":
        return None
    return {"name": str(fact.arguments["name"])}


RULE = Rule(
    tier=Tier.WARNING,
    message="`{name}` runs under autocast, its backward does not: a gradient in the lower precision meets saved "
    "float32 tensors, and their product raises",
    advice="decorate `forward` with `torch.amp.custom_fwd(device_type=...)` and `backward` with "
    "`torch.amp.custom_bwd(device_type=...)`",
    find=_find,
)
