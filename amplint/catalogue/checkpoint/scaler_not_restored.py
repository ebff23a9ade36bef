"""The loss scaler's state is saved, but never loaded where the optimizer's is.

## What happens

A run that is resumed begins at the initial scale again though the checkpoint knows better. If the scale had come down,
the first steps after each resumption overflow and are skipped; if it had grown, small gradients vanish until it has
grown again, 2000 steps for each factor of 2.

## Why it is easy to miss

Nothing fails, and the checkpoint looks complete.

## Example

```python bad
state = {"optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}
optimizer.load_state_dict(state["optimizer"])  # expect: scaler-not-restored
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

```python good
state = {"optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}
optimizer.load_state_dict(state["optimizer"])
scaler.load_state_dict(state["scaler"])
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

## What to do

Call `scaler.load_state_dict()` where the optimizer's state is loaded. Make the scaler before that, and no other one
after it.

## Fix

None. Older checkpoints have no such entry, and what is to be done about them is a decision.

## Source

- Saving and resuming with a scaler
  (https://docs.pytorch.org/tutorials/recipes/recipes/amp_recipe.html#saving-resuming)
- `torch/amp/grad_scaler.py` of torch 2.13, `load_state_dict`
"""

from amplint.catalogue.rule import Rule, Tier
from amplint.protocol.facts import LOADED, Fact


def _left_out(fact: Fact) -> dict[str, str] | None:
    if fact.called != LOADED or fact.arguments.get("scaler") is not False:
        return None
    if (method := fact.arguments.get("uncalled")) is not None:
        what = f"the loss scaler's state is looked up by `{method}`, a method, of which no checkpoint has an entry"
        return {"what": what, "cure": "look it up by the name that it was saved under"}
    if (name := fact.arguments.get("renewed")) is not None:
        what = f"`{name}` is made anew after its state was loaded, which goes with the scaler that had it"
        return {"what": what, "cure": "make it before the checkpoint is loaded, and only once"}
    what = "the loss scaler's state is saved, but not loaded with the optimizer's"
    return {"what": what, "cure": "call `scaler.load_state_dict()` too"}


RULE = Rule(
    tier=Tier.WARNING,
    message="{what}: a run that is resumed begins at the initial scale again",
    advice="{cure}",
    find=_left_out,
)
