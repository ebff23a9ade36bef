"""`scaler.update()` runs before the step that the gradients belong to.

## What happens

`update()` may change the scale: it halves it after an overflow and doubles it after 2000 clean steps. Gradients
made before it are then divided by a scale that is not the one they carry, and are twice too large or half as
large. Between `unscale_()` and `step()` it also makes torch forget that the gradients are unscaled: `step()`
divides them once more, and the update is 65536 times too small at the initial scale.

## Why it is easy to miss

With one optimizer torch raises at once. With two optimizers and an `update()` between their steps it says
nothing: only the steps at which the scale changes are wrong, and an overflow of the second optimizer's
gradients lowers the scale one iteration late.

## Example

```python bad
other = nn.Linear(4, 3)
other_optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    other_optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x) + other(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()  # expect: scaler-update-order
    scaler.step(other_optimizer)
```

```python good
other = nn.Linear(4, 3)
other_optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    other_optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x) + other(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.step(other_optimizer)
    scaler.update()
```

## Messages

- `No inf checks were recorded prior to update.` (AssertionError): no step and no `unscale_()` before the update
- `unscale_() is being called after step().` (RuntimeError): in the iteration after an update between the two

## What to do

Call `scaler.update()` once, as the scaler's last call of the iteration, after the steps of all optimizers whose
gradients were made before it. Inside a window it belongs under the gate, with the step. A second scaler is not
needed: one scaler serves several optimizers.

## Fix

Unsafe: moves `update()` behind the last step, one call in place of several. The gradients are then divided by the
scale that they carry; it was sometimes another one.

## Source

- Working with multiple models, losses, and optimizers
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#working-with-multiple-models-losses-and-optimizers)
- `torch/amp/grad_scaler.py` of torch 2.13, warning of `update`
"""

from amplint.catalogue.inf_checks import found_unchecked
from amplint.catalogue.remedy import Gather, Move, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.catalogue.through import crossed_by_hand
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads
from amplint.protocol.state import Moment


def _words(moment: Moment) -> dict[str, str]:
    """When to update: gradients that are gathered over a window have to be stepped before it."""
    gathered = moment.event.kind is not Kind.UPDATE and moment.ledger.window.micro_steps > 1
    once = "call `scaler.update()` once per window, after the step; what steps at other times needs a scaler of its own"
    return {"remedy": once if gathered else "call `scaler.update()` after the last `scaler.step()` of the iteration"}


RULE = Rule(
    tier=Tier.ERROR,
    message="`scaler.update()` runs before the step that these gradients belong to: they are divided by a scale that "
    "is not the one they were multiplied by, and an overflow is looked for too late",
    advice="{remedy}",
    when=(
        Condition({Kind.UNSCALE, Kind.SCALER_STEP}, crossed=True, also=crossed_by_hand),
        Condition(Kind.UPDATE, grads=Grads.SCALED, used=False, also=found_unchecked),
    ),
    words=_words,
    place=Kind.UPDATE,
    hides=("missing-scaler-update", "unscaled-backward", "unscale-after-step", "repeated-update"),
    because=(
        (Kind.BACKWARD, "gradients are made under the old scale here"),
        (Kind.SCALER_STEP, "and stepped here, under the new one"),
    ),
    remedy=unsafe(
        "move `scaler.update()` after the last step",
        Move(Kind.UPDATE, after=(Kind.SCALER_STEP,)),
        Gather(Kind.UPDATE, after=(Kind.SCALER_STEP,)),
    ),
)
