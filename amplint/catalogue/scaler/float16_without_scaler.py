"""A forward in float16 is trained without loss scaling: small gradients become zero.

## What happens

Under float16 autocast the gradients of most layers are float16 too. The smallest float16 above zero is 6e-08: a
gradient below 3e-08 becomes zero on its way back, and below 6e-05 it keeps fewer and fewer digits. Real networks
have a good part of their gradients there, mostly in the early layers, which then stop learning. Nothing overflows and
nothing warns; the loss goes down a little more slowly and stays higher.

## Why it is easy to miss

float16 is what `torch.autocast("cuda")` and `torch.cuda.amp.autocast()` choose when no dtype is named. The same lines
with `dtype=torch.bfloat16` need no scaler, since bfloat16 has the exponents of float32, and on a CPU the default is
bfloat16.

A program that has a scaler decides itself when it takes it. It is told of the mistake where its own defaults make it:
mixed precision is on unless one asks for less, and the scaler is off unless one asks for it.

## Example

```python bad
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    loss.backward()  # expect: float16-without-scaler
    optimizer.step()
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

A scaler that is on in bfloat16 alone is off where it is needed, and so is one that compares a dtype with a text.

```python bad
dtype = torch.float16
scaler = torch.amp.GradScaler("cpu", enabled=dtype == "float16")
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=dtype):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()  # expect: float16-without-scaler
    scaler.step(optimizer)
    scaler.update()
```

bfloat16 needs none.

```python good
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
```

## What to do

Make one `torch.amp.GradScaler` for the run, back-propagate `scaler.scale(loss)`, step with `scaler.step(optimizer)`
and end with `scaler.update()`; unscale before clipping. Or run in bfloat16, where the device has it.

## Fix

None. A scaler, bfloat16 and float32 all help; the first needs changes in several places, the second another
device.

## Source

- Automatic mixed precision package, Gradient Scaling
  (https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling)
- Mixed Precision Training, section 3.2 (https://arxiv.org/abs/1710.03740)
- `torch/amp/autocast_mode.py` of torch 2.13: `torch.get_autocast_dtype("cuda")` is float16, of `"cpu"` bfloat16
"""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Event, Kind
from amplint.protocol.ledger import LEAST_SCALE, Grads, Stage
from amplint.protocol.precision import MISSES_FLOAT16, OFF_BY, SCALES_ELSEWHERE, Precision
from amplint.protocol.state import Moment

_SCALE = "back-propagate `scaler.scale(loss)` of a `torch.amp.GradScaler` and step through it, or use bfloat16"


def _remedy(moment: Moment) -> dict[str, str]:
    last = moment.last.get(Kind.BACKWARD)
    off = last.detail.get(OFF_BY) if last is not None else None
    return {"remedy": f"the scaler is off, by `{off}`: have it on in float16" if off else _SCALE}


def _scales(event: Event) -> bool:
    """Whether an event shows that losses are scaled, by hand perhaps, by a scaler that may be on in float16."""
    if MISSES_FLOAT16 in event.detail:
        return False
    if event.kind is Kind.BACKWARD:
        return event.scaled is not False or any("scal" in factor for factor in event.factors)
    return event.kind in (Kind.UNSCALE, Kind.SCALER_STEP, Kind.UPDATE, Kind.DIVIDE)


def _has_a_scaler(event: Event) -> bool:
    """Whether an event shows that losses are scaled in the program, in this run or in another one."""
    return SCALES_ELSEWHERE in event.detail or _scales(event)


def _by_hand(moment: Moment) -> bool:
    """Whether the losses carry a loss scale by hand, or did until it was divided out of their gradients."""
    ledger = moment.ledger
    weights = [weight for _, weight in ledger.window.weights if weight is not None]
    return ledger.unscaled_by is not None or max(weights, default=0) >= LEAST_SCALE


RULE = Rule(
    tier=Tier.ERROR,
    message="the forward runs in float16 and the loss is back-propagated without a loss scale: gradients below 3e-08 "
    "become zero, and small ones lose their digits",
    advice="{remedy}",
    words=_remedy,
    when=(
        Condition(
            Kind.STEP,
            grads=Grads.PLAIN,
            stage={Stage.READY, Stage.UNKNOWN},  # gradients that carry no scale now were made since
            forward=Precision.FLOAT16,
            also=lambda moment: not _by_hand(moment),
        ),
    ),
    place=Kind.BACKWARD,
    because=((Kind.STEP, "the optimizer steps with them here"),),
    refuted_by=_has_a_scaler,
    remedied=_scales,
)
