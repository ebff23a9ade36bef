"""Gradients are made and never used.

## What happens

`backward()` fills `.grad`, and no optimizer ever steps: not one weight moves from its initial value. The loss that
is logged stays where it began, up to the noise of the batches. Often `scaler.step(optimizer)` was deleted together
with something else, or only `scheduler.step()` was left.

## Why it is easy to miss

Nothing fails. torch warns only if a scheduler steps, and then about the order.

## Example

```python bad
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()  # expect: missing-step
```

```python good
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
```

## Messages

- ``Detected call of `lr_scheduler.step()` before `optimizer.step()`.`` (UserWarning) where a scheduler steps

## What to do

Call `optimizer.step()` after the last backward of the window, or `scaler.step(optimizer)` and `scaler.update()`
where the loss was scaled. If the gradients themselves are wanted (a saliency map, a penalty), take them with
`torch.autograd.grad` and make no optimizer.

## Fix

None. Where the step belongs, and whether there is a reason for none, the source does not say.

## Source

- Taking an optimization step (https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step)
"""

from amplint.catalogue.amounts import in_a_loop
from amplint.catalogue.lengths import measured
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import BESIDE_OTHERS, Kind
from amplint.protocol.state import Moment
from amplint.protocol.window import Window


def _made(window: Window) -> int:
    """How many micro-steps made gradients, erased since or not."""
    return window.micro_steps + window.lost + window.dropped


def _for_nothing(moment: Moment) -> bool:
    """Whether gradients were made more than once, in a loop, and nothing that was not seen can have used them.

    A function that is called here and there to look at gradients, or at the memory that they take, trains nothing.
    Where others step, an optimizer is meant to if its own gradients are zeroed.
    """
    said = moment.event.detail
    zeroed = moment.last.get(Kind.ZERO_GRAD)
    meant = BESIDE_OTHERS not in said or (zeroed is not None and zeroed.optimizer == moment.name)
    return _made(moment.ledger.window) > 1 and in_a_loop(moment) and "unseen" not in said and meant


def _words(moment: Moment) -> dict[str, str]:
    """That gradients are made more than once, in a process how often; and what to do, where a gate never opens."""
    often = f" ({_made(moment.ledger.window)} times)" if measured(moment) else ""
    remedy, asked = "call `optimizer.step()` after the last backward of the window", moment.event.detail.get("waits")
    if asked is not None:
        remedy = f"count micro-steps: the gate of the step asks for `{asked}`, which only the step moves"
    alone = BESIDE_OTHERS not in moment.event.detail
    who = "the optimizer never steps: no weight ever moves" if alone else _NO_STEP
    return {"again": f"again and again{often}", "remedy": remedy, "who": who}


_NO_STEP = "nothing calls `optimizer.step()`: its weights never move, only those of the others do"


RULE = Rule(
    tier=Tier.ERROR,
    message="gradients are made {again}, but {who}",
    advice="{remedy}",
    when=(Condition(Kind.END, steps={0}, also=_for_nothing),),
    words=_words,
    place=Kind.BACKWARD,
)
