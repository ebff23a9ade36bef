"""A new scaler is made for every batch or every epoch: what the last one has learned is thrown away.

## What happens

A `GradScaler` finds its scale while it runs: it halves the scale at every overflow, and doubles it after 2000 steps
without one. A new one begins at 65536 again. Made per batch, the scale is a constant: where 65536 overflows, every step
is skipped and nothing is ever learned; where it does not, the scale never grows. Made per epoch, the first steps of
every epoch are skipped until the scale has come down again, and an epoch of less than 2000 steps never raises it.

## Why it is easy to miss

Nothing fails. Skipped steps are silent, and most models bear a scale of 65536.

## Example

```python bad
for x, y in loader:
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)  # expect: scaler-created-in-loop
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

```python good
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
```

A function that is called once per epoch makes one per epoch, which is a warning:

```python bad
def train_one_epoch(epoch):
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)  # expect: scaler-created-in-loop
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


for epoch in range(epochs):
    train_one_epoch(epoch)
```

## What to do

Make the scaler once, where the optimizer is made, and hand it to the function that trains. A new model with a new
optimizer (the next fold of a cross-validation) gets a new scaler.

## Fix

Unsafe: makes the scaler once, before the loops. The scale then goes on from batch to batch, and other steps are
skipped than before.

## Source

- "Creates a GradScaler once at the beginning of training"
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#typical-mixed-precision-training)
- `torch/amp/grad_scaler.py` of torch 2.13, `GradScaler.__init__` and `update`
"""

from amplint.catalogue.remedy import Hoist, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.state import Moment


def _made_again(moment: Moment) -> bool:
    """Whether the optimizer steps through another scaler than before, which was made at the same place."""
    event, before = moment.event, moment.ledger
    return bool(event.maker) and event.maker == before.maker and event.scaler != before.scaler


def _lasted(moment: Moment) -> bool:
    """Whether the scaler before was stepped through more than once: an epoch, not a batch or a window."""
    return moment.ledger.scaler_steps > 1


def _words(moment: Moment) -> dict[str, str]:
    return {"time": "epoch" if _lasted(moment) else "update"}


RULE = Rule(
    tier=Tier.ERROR,
    message="a new scaler is made for every {time}: the loss scale that the last one has found is thrown away, and "
    "each begins at the initial scale again",
    advice="make the scaler once, before the loop, where the optimizer is made",
    when=(Condition(Kind.SCALER_STEP, also=_made_again),),
    at_maker=True,
    milder=_lasted,
    words=_words,
    remedy=unsafe(
        "make the scaler once, before the loop",
        Hoist(),
    ),
)
