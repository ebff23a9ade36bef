"""A window adds gradients of scaled and of unscaled losses.

## What happens

`.grad` holds the sum of both, and `scaler.unscale_()` or `scaler.step()` divides all of it by the scale: at the
initial scale of 65536 the unscaled loss counts 65536 times less than it should. It has no effect that can be seen,
and what it has shrinks whenever the scale grows. Without a step through the scaler it is the other way round: the
scaled loss drowns the other one.

## Why it is easy to miss

Nothing fails, and the main loss falls. The second loss is a penalty or an auxiliary head whose weight nobody knows.

## Example

```python bad
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    penalty = 0.01 * model.weight.pow(2).sum()
    penalty.backward()  # expect: mixed-scaled-losses
    scaler.step(optimizer)
    scaler.update()
```

```python good
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    penalty = 0.01 * model.weight.pow(2).sum()
    scaler.scale(loss + penalty).backward()
    scaler.step(optimizer)
    scaler.update()
```

Each loss may have a backward of its own, if the scaler scales them all:

```python good
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    penalty = 0.01 * model.weight.pow(2).sum()
    scaler.scale(penalty).backward()
    scaler.step(optimizer)
    scaler.update()
```

## What to do

Scale every loss whose gradients meet in one optimizer, with the same scaler. Do not divide by the scale by hand for
one of them; do not make a second scaler for the second loss.

## Fix

None. Some of the losses may be left unscaled on purpose, with a step of their own in mind.

## Source

- Working with multiple models, losses, and optimizers
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#working-with-multiple-models-losses-and-optimizers)
"""

from amplint.catalogue.amounts import at_least, scale_in_doubt, scaled_after_unscaled, unscaled_loss
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads, Stage

RULE = Rule(
    tier=Tier.ERROR,
    message="gradients of scaled and of unscaled losses are added up: divided by the scale, the unscaled ones all but "
    "vanish",
    advice="back-propagate `scaler.scale(loss)` for every loss of the window",
    when=(
        Condition(Kind.BACKWARD, grads=Grads.SCALED, used=False, micro_steps=at_least(1), also=unscaled_loss),
        Condition(
            Kind.BACKWARD,
            grads=Grads.PLAIN,
            stage=Stage.READY,
            used=False,
            micro_steps=at_least(1),
            also=scaled_after_unscaled,
        ),
    ),
    because=((Kind.BACKWARD, "the gradients that it is added to are made here"),),
    hides=("unscaled-backward", "step-bypasses-scaler"),
    undecided=scale_in_doubt,
)
