"""`scaler.update()` is called again although nothing was stepped or unscaled since the last one.

## What happens

`update()` takes what `step()` or `unscale_()` has found about overflows, changes the scale by it and throws it away. A
second call finds nothing, and torch raises: "No inf checks were recorded prior to update." Where only some iterations
have no step, such as those whose loss is not finite, the run ends at the first of them: exactly when the scale was to
save it. A disabled scaler does nothing and raises nothing, so that the mistake waits for the first run with mixed
precision. `update(new_scale)` asks for nothing and is always allowed.

## Why it is easy to miss

One `update()` after each `step()` is right, until two optimizers step in one iteration or one of them does not. The
call without a condition looks harmless, since `update()` reads by itself whether a step was skipped: a step that the
scaler skipped has left its record, a step that was never called has not.

## Example

```python bad static-only -- torch raises: No inf checks were recorded prior to update.
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    scaler.update()  # expect: repeated-update
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

A second optimizer steps in every second iteration, and the scaler is updated in each:

```python bad static-only -- torch raises in the second iteration: No inf checks were recorded prior to update.
other = nn.Linear(4, 3)
other_optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
for i, (x, y) in enumerate(loader):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    if i % 2 == 0:
        other_optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = criterion(other(x), y)
        scaler.scale(loss).backward()
        scaler.step(other_optimizer)
    scaler.update()  # expect: repeated-update
```

A scale that is set by hand may follow, and so may an update of gradients that were unscaled and not stepped:

```python good
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    if clip_grad_norm_(model.parameters(), 1.0) < 100.0:
        scaler.step(optimizer)
    scaler.update()
    if scaler.get_scale() > 512.0:
        scaler.update(512.0)
```

## Messages

- `No inf checks were recorded prior to update.` (AssertionError)

## What to do

Call `scaler.update()` once, after the last `scaler.step()` of the iteration, and under the condition of the step: where
nothing steps and nothing is unscaled, there is nothing to update. Do not catch the AssertionError.

## Fix

Safe: puts the call under the condition of the step, or takes it out where there is none. Nothing but the exception
goes. No number of a run changes.

## Source

- `torch/amp/grad_scaler.py` of torch 2.13, `update`
  (https://github.com/pytorch/pytorch/blob/v2.13.0/torch/amp/grad_scaler.py)
- Working with multiple models, losses, and optimizers
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#working-with-multiple-models-losses-and-optimizers)
"""

from amplint.catalogue.inf_checks import unchecked
from amplint.catalogue.remedy import Delete, Join, safe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="`scaler.update()` is called though nothing was stepped or unscaled since the last one: there is no inf "
    "check to update the scale by, and torch raises",
    advice="call `scaler.update()` once, after the last `scaler.step()`, and only where something stepped",
    when=(Condition(Kind.UPDATE, also=unchecked),),
    because=((Kind.UPDATE, "the last update, which used all that the steps had recorded"),),
    needs_every_path=False,
    of_skipped=True,
    remedy=safe(
        "call `scaler.update()` once, with the step",
        Join(Kind.UPDATE, to=Kind.SCALER_STEP),
        Delete(Kind.UPDATE),
    ),
)
