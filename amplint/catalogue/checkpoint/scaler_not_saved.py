"""A checkpoint holds the optimizer's state, but not the loss scaler's.

## What happens

A run that is resumed begins at a loss scale of 65536 again. If the scale had come down, the first steps after each
resumption overflow and are skipped until it has come down again; if it had grown, small gradients vanish until it has
grown again, 2000 steps for each factor of 2. Whether a resumed run is the run that was interrupted cannot be tested any
more: it takes other steps.

## Why it is easy to miss

Nothing fails. The loss of a resumed run looks a little worse for a while, as it often does.

## Example

```python bad
import io

for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, io.BytesIO())  # expect: scaler-not-saved
```

```python good
import io

for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}
torch.save(state, io.BytesIO())
```

Weights alone are no checkpoint to resume from:

```python good
import io

for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
torch.save(model.state_dict(), io.BytesIO())
```

## What to do

Save `scaler.state_dict()` beside `optimizer.state_dict()`, and hand it to `scaler.load_state_dict()` where the
optimizer's state is loaded. Save after `scaler.update()`.

`Accelerator(mixed_precision="fp16")` holds a scaler too, in `accelerator.scaler`: a checkpoint that is written by hand,
and resumed from, lacks it unless that is in it. `accelerator.save_state` saves it. With Apex the scalers are in
`amp.state_dict()`.

## Fix

None. Whoever loads the checkpoints has to know the new entry.

## Source

- Saving and resuming with a scaler
  (https://docs.pytorch.org/tutorials/recipes/recipes/amp_recipe.html#saving-resuming)
- `torch/amp/grad_scaler.py` of torch 2.13, `state_dict`
"""

from amplint.catalogue.rule import Rule, Tier
from amplint.protocol.facts import SAVED, Fact


def _left_out(fact: Fact) -> dict[str, str] | None:
    without = fact.called == SAVED and fact.arguments.get("optimizer") is True and fact.arguments.get("scaler") is False
    if (method := fact.arguments.get("uncalled")) is not None and without:
        return {
            "what": f"`{method}` is a method that is saved itself, not its result",
            "cure": f"call it: `{method}()`",
            "when": "",
        }
    what, cure = "the optimizer's state is saved, the loss scaler's is not", "save `scaler.state_dict()` too"
    return {"what": what, "cure": cure, "when": str(fact.arguments.get("when", ""))} if without else None


RULE = Rule(
    tier=Tier.WARNING,
    message="{what}: a run that is resumed begins at the initial scale again{when}",
    advice="{cure}",
    find=_left_out,
)
