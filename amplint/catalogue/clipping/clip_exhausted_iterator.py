"""The clip is handed an iterator of parameters that something has already gone through: it clips nothing.

## What happens

`model.parameters()` is a generator. `torch.optim.SGD(params)` goes through it, and so does a first clip; whoever gets
it next gets nothing. The clip finds no gradient, returns a norm of 0, and leaves all gradients as they are.

## Why it is easy to miss

Nothing fails, the first clip of a run may even work, and a norm of 0 in the log looks like a fine gradient.

## Example

```python bad
params = model.parameters()
optimizer = torch.optim.SGD(params, lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    clip_grad_norm_(params, 1.0)  # expect: clip-exhausted-iterator
    optimizer.step()
```

```python good
params = list(model.parameters())
optimizer = torch.optim.SGD(params, lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    clip_grad_norm_(params, 1.0)
    optimizer.step()
```

## Messages

- "`parameters` is an empty generator, no gradient clipping will occur." (UserWarning, once)
- `Expected !nested_tensorlist[0].empty() to be true, but got false.` (RuntimeError) of `clip_grad_value_`

## What to do

Hand over `model.parameters()` itself, which is a new generator each time, or keep `list(model.parameters())`.

## Fix

None. The iterator has to be made into a list where it comes from, or its parameters asked for anew; where from,
the clip does not say.

## Source

- `torch/nn/modules/module.py` of torch 2.13: `parameters` is a generator
  (https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.parameters)
- `torch/nn/utils/clip_grad.py` of torch 2.13, `clip_grad_norm_`
"""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the iterator of parameters that is handed to the clip has already been gone through: nothing is clipped",
    advice="hand over `model.parameters()` anew each time, or keep a list: `params = list(model.parameters())`",
    when=(Condition(Kind.EMPTY_CLIP),),
)
