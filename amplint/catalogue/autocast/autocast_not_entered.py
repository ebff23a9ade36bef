"""An autocast context is made, and never entered.

## What happens

Nothing: an autocast object changes the precision only inside its `with` block, or in a function that it decorates. What
follows runs in float32, at half the speed and twice the memory that was hoped for.

## Why it is easy to miss

Nothing warns, and the numbers are those of float32: better, if anything. `with a and b:` looks as if it entered both,
but `and` gives only its second operand.

## Example

Only the last of several contexts that are joined with `and` is entered; a comma enters all:

```python bad static-only -- an object that is made and dropped is no event
x, y = loader[0]
with torch.autocast("cpu", dtype=torch.bfloat16) and torch.set_grad_enabled(True):  # expect: autocast-not-entered
    model(x)
```

An object that is made and dropped does nothing either:

```python bad static-only -- an object that is made and dropped is no event
for x, y in loader:
    optimizer.zero_grad()
    torch.autocast("cpu", dtype=torch.bfloat16)  # expect: autocast-not-entered
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
```

```python good
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
```

## What to do

Enter it: `with torch.autocast("cuda", dtype=torch.bfloat16):`, with a comma between several contexts, or
`stack.enter_context(...)` of a `contextlib.ExitStack`.

## Fix

Unsafe: puts a comma where `and` lost the context, so that what stands in the `with` begins to run in the precision that
it names. For a context that is only made there is none: which statements belong into it, only their author knows.

## Source

- Autocasting (https://docs.pytorch.org/docs/stable/amp.html#autocasting): "instances of autocast serve as context
  managers or decorators"
"""

from amplint.catalogue.remedy import EnterBoth, unsafe
from amplint.catalogue.rule import Rule, Tier
from amplint.protocol.facts import Fact

_CALLED = frozenset(
    f"torch.{name}"
    for name in (
        "autocast",
        "amp.autocast",
        "amp.autocast_mode.autocast",
        "cuda.amp.autocast",
        "cuda.amp.autocast_mode.autocast",
        "cpu.amp.autocast",
    )
)


def _dropped(fact: Fact) -> dict[str, str] | None:
    return {"called": fact.called} if fact.called in _CALLED and fact.used == "dropped" else None


RULE = Rule(
    tier=Tier.ERROR,
    message="`{called}(...)` is made and never entered: it has no effect, and what follows runs in the precision of "
    "before",
    advice="enter it with `with`; several contexts stand apart by commas, not by `and`",
    find=_dropped,
    remedy=unsafe(
        "enter both contexts: what stands in them begins to run in the precision of the first",
        EnterBoth(),
    ),
)
