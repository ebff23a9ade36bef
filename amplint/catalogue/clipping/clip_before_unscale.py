"""Gradients are clipped while they still carry the loss scale.

## What happens

The threshold is compared with gradients that are 65536 times too large at the initial scale: a threshold of 1.0
acts like 1.5e-05. Nearly every gradient exceeds that, so every update is shrunk to the same tiny norm, and the
threshold halves each time the scale doubles. SGD all but stops. Adam cancels a common factor, but the gradients
come near its epsilon: a norm of 1.5e-05 spread over a hundred million parameters is 1.5e-09 for each, below
1e-08.

## Why it is easy to miss

Nothing fails. "With clipping the loss does not decrease any more", and without clipping it does; or the loss
falls, only more slowly than in float32.

## Example

```python bad
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    clip_grad_norm_(model.parameters(), 1.0)  # expect: clip-before-unscale
    scaler.step(optimizer)
    scaler.update()
```

```python good
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
```

## Messages

- no error; the norm that `clip_grad_norm_` returns is in the thousands or millions, and jumps by a factor of 2
  when the scale changes

## What to do

Call `scaler.unscale_(optimizer)` right before the clip, once per window, under the same condition as the step:
`scaler.step()` then knows that it need not unscale. Do not multiply the threshold by 65536, the scale changes;
do not unscale after the clip; do not unscale on every micro-step (`repeated-unscale`).

## Fix

Safe: calls `scaler.unscale_(optimizer)` before the clip. The threshold becomes the one that is written, and no
program that is right clips scaled gradients. The numbers of a run that was tuned with the mistake in it change.

## Source

- Gradient clipping: gradients are to be unscaled before they are modified or inspected
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping)
"""

from amplint.catalogue.amounts import at_least, below_the_scale, takes_out_a_scale, threshold_words
from amplint.catalogue.remedy import Insert, Move, safe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.catalogue.through import perhaps_scaled, within_a_scale
from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads
from amplint.protocol.state import Moment


def _of_no_second_loss(moment: Moment) -> bool:
    """Whether it is not a second loss, without the scale, that mixes gradients which something unscales: that is told
    at this loss. Over several micro-steps it is the unscaling of each, unless the call that clips unscales first."""
    unscaled = moment.last.get(Kind.UNSCALE)
    at_once = unscaled is not None and (moment.ledger.window.micro_steps == 1 or unscaled.site == moment.event.site)
    second = moment.ledger.divided and moment.last[Kind.BACKWARD].scaled is False
    return not at_once and not second and below_the_scale(moment)


RULE = Rule(
    tier=Tier.ERROR,
    message="gradients are clipped while they still carry the loss scale: the effective threshold is {threshold}, "
    "so {so}",
    advice="call `scaler.unscale_(optimizer)` before clipping",
    when=(
        Condition(Kind.CLIP, grads=Grads.SCALED, micro_steps=at_least(1), also=below_the_scale),
        Condition(Kind.CLIP, grads=Grads.MIXED, restacked=0, micro_steps=at_least(1), also=_of_no_second_loss),
        Condition(Kind.CLIP, micro_steps=at_least(1), also=within_a_scale),
        Condition(Kind.DIVIDE, clipped=True, micro_steps=at_least(1), also=takes_out_a_scale),
    ),
    place=Kind.CLIP,
    because=((Kind.BACKWARD, "gradients get the loss scale here"),),
    milder=perhaps_scaled,
    words=threshold_words,
    remedy=safe(
        "call `scaler.unscale_(optimizer)` before the clip",
        Move(Kind.UNSCALE, before=(Kind.CLIP,)),
        Insert(Kind.UNSCALE, before=(Kind.CLIP,)),
    ),
)
