"""A running total keeps the loss tensor itself: memory grows every step.

## What happens

`total += loss` is arithmetic on tensors that require gradients. The total is a new node of the graph whose parents are
the old total and the loss, and so it keeps the graph of every loss that was ever added to it: `backward()` has freed
the saved activations, the nodes stay. Memory, and the time that Python needs to free it all at once, grow with every
step until the total is set to zero again, or until the process is killed. So does a meter or a history that is handed
the loss: it is told where that happens, for the same meter may be handed numbers elsewhere.

## Why it is easy to miss

The numbers are right. A few kilobytes a step are nothing in a short run, and in a long one the out-of-memory error
comes hours later, at an allocation that has nothing to do with it.

## Example

```python bad
for epoch in range(epochs):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss  # expect: retained-graph
    print(f"epoch {epoch}: {total / len(loader):.3f}")
```

```python good
for epoch in range(epochs):
    total = torch.zeros(())
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.detach()
    print(f"epoch {epoch}: {total / len(loader):.3f}")
```

## Messages

- ``torch.OutOfMemoryError: CUDA out of memory.`` after hours of training that used less

## What to do

Add `loss.detach()`. Not `loss.item()`, which makes the host wait for the device at every step; one `.item()` of the
total, where it is printed, is enough.

## Fix

Safe: adds `.detach()`. The number is the same, and no synchronisation with the device is added, as `.item()` would.
No number of a run changes.

## Source

- FAQ, "My model reports cuda runtime error(2): out of memory" (https://docs.pytorch.org/docs/stable/notes/faq.html)
"""

from amplint.catalogue.remedy import Detach, safe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Event, Kind
from amplint.protocol.facts import EVALUATED, Fact
from amplint.protocol.state import Moment


def _kept(moment: Moment) -> Event:
    return moment.event if moment.event.kind is Kind.KEEP else moment.last[Kind.KEEP]


def _bounded(moment: Moment) -> bool:
    """Whether the total begins anew, or a window's end bounds it: it kept nothing across an update, and there were."""
    detail = _kept(moment).detail
    return "bounded" in detail or ("within" in detail and "stepped" in moment.event.detail)


def _words(moment: Moment) -> dict[str, str]:
    return {
        "name": _kept(moment).detail["name"],
        "until": "until it begins anew" if _bounded(moment) else "with each step",
        "cure": "add `.detach()` of the loss; `.item()` would wait for the device at every step",
    }


def _evaluated(fact: Fact) -> dict[str, str] | None:
    """What is kept where no gradients are wanted."""
    if fact.called != EVALUATED:
        return None
    return {
        "name": str(fact.arguments["name"]),
        "until": "until the evaluation is over",
        "cure": "evaluate under `torch.no_grad()`",
    }


RULE = Rule(
    tier=Tier.ERROR,
    message="`{name}` keeps every loss that is added to it with its graph: memory grows {until}",
    advice="{cure}",
    when=(
        Condition(Kind.END, held=lambda held: held > 1, spent={False}),
        Condition(Kind.KEEP, also=lambda moment: "passed" in moment.event.detail),
    ),
    words=_words,
    find=_evaluated,
    place=Kind.KEEP,
    milder=_bounded,
    remedy=safe(
        "add the loss without its graph",
        Detach(),
    ),
)
