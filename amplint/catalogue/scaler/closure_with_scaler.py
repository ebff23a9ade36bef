"""A closure is handed to `scaler.step()`: it runs after the gradients have been unscaled.

## What happens

`scaler.step(optimizer, closure)` unscales the gradients, looks for inf and NaN, and then calls
`optimizer.step(closure)`. The closure erases those gradients and makes new ones, of a loss that it scales: the
optimizer steps on gradients that are 65536 times too large at the initial scale, and that nobody has looked at. If the
closure does not scale its loss, the gradients are true, but small ones vanish in float16 and an overflow is not
skipped.

## Why it is easy to miss

torch raises for the keyword (`closure=closure`) only. By position the closure is passed on in silence, as
`optimizer.step(closure)` would take it.

## Example

```python bad
for x, y in loader:
    def closure():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        return loss
    closure()
    scaler.step(optimizer, closure)  # expect: closure-with-scaler
    scaler.update()
```

```python good
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

## Messages

- `Closure use is not currently supported if GradScaler is enabled.` (RuntimeError) for `closure=closure`

## What to do

Call forward and backward before `scaler.step(optimizer)`, without a closure. An optimizer that needs one (LBFGS, SAM)
evaluates the loss again in the middle of its step, where the scaler cannot unscale: train it in bfloat16 or float32,
without a scaler.

## Fix

None. An optimizer that needs its closure cannot be used with a scaler.

## Source

- `torch/amp/grad_scaler.py` of torch 2.13, `step`: only `"closure" in kwargs` is refused
  (https://github.com/pytorch/pytorch/blob/v2.13.0/torch/amp/grad_scaler.py)
- `GradScaler.step` (https://docs.pytorch.org/docs/stable/amp.html#torch.amp.GradScaler.step): "Closure use is not
  currently supported"
"""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.state import Moment


def _handed(moment: Moment) -> bool:
    return "closure" in moment.event.detail


RULE = Rule(
    tier=Tier.ERROR,
    message="`scaler.step()` is handed a closure: it makes new gradients after the scaler has unscaled and checked the "
    "old ones, and those are stepped as they are (torch refuses the keyword only)",
    advice="run forward and backward before `scaler.step(optimizer)`, and leave the closure out",
    when=(Condition(Kind.SCALER_STEP, also=_handed),),
    needs_every_path=False,
)
