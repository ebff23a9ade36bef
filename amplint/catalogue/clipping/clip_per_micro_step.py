"""Partly accumulated gradients are clipped on every micro-step.

## What happens

Each clip shrinks the sum of what has come so far, and the next backward adds to it at full size: early
micro-batches are shrunk again and again, the last one only once. With a window of four whose micro-batches all
point the same way, each with four times the norm of the threshold, the first makes up 0.8 % of the step, the
second 3.2 %, the third 16 % and the last 80 %. One clip of the whole window would give each of them 25 %.

## Why it is easy to miss

The norm of the update is at most the threshold, as it should be; only its direction is wrong. As long as no
partial sum exceeds the threshold, nothing is wrong at all.

## Example

```python bad
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / accum_steps
    loss.backward()
    clip_grad_norm_(model.parameters(), 1.0)  # expect: clip-per-micro-step
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```

```python good
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / accum_steps
    loss.backward()
    if (i + 1) % accum_steps == 0:
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
```

```python bad whole static-only -- needs transformers
import torch
from transformers import Trainer


class ClippingTrainer(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: clip-per-micro-step
        return loss
```

## What to do

Move the clip under the gate of the step. Do not divide the threshold by the window instead: partial sums are
still shrunk. With a GradScaler `unscale_()` moves along; it may run only once per window (`repeated-unscale`).
transformers' Trainer clips by itself, as `max_grad_norm` of its arguments says; a clip in a `training_step` of one's
own runs on every micro-step. Where nothing in the file sets the window it is a warning.

## Fix

Unsafe: moves the clip to the end of the window, with the unscaling that it needs. The threshold then holds for
the sum of the window and not for each partial sum, so that the updates become larger or smaller.

## Source

- `transformers/trainer.py` of transformers 5.24, `_run_epoch`: clips once per window, after all of its micro-steps
- Gradient accumulation: unscale, to clip, just before the step and after all gradients for the upcoming step
  have been accumulated (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation)
"""

from amplint.catalogue.amounts import at_least, begins_micro_step
from amplint.catalogue.remedy import AtBoundary, Insert, Move, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.catalogue.through import clipped_early_in_a_loop
from amplint.protocol.events import Kind
from amplint.protocol.state import Moment


def _adds_to_it(moment: Moment) -> bool:
    """Whether a micro-step begins on what a clip has shortened, which would have shortened any other as well. One that
    has met no gradient has shortened none."""
    clip = moment.last.get(Kind.CLIP)
    return begins_micro_step(moment) and (clip is None or not {"turns", "meets"} & clip.detail.keys())


RULE = Rule(
    tier=Tier.ERROR,
    message="gradients are clipped on every micro-step, while they are only partly accumulated: what was clipped is "
    "added to and clipped again, so early micro-batches are weighted down",
    advice="clip once per window, on the micro-step on which the optimizer steps",
    when=(Condition(Kind.BACKWARD, shortened=True, micro_steps=at_least(1), steps=at_least(1), also=_adds_to_it),),
    place=Kind.CLIP,
    find=clipped_early_in_a_loop,
    because=((Kind.BACKWARD, "the next micro-step adds to the clipped gradients here"),),
    explains=("repeated-unscale",),
    remedy=unsafe(
        "clip once per window, right before the step",
        Move(Kind.CLIP, before=(Kind.SCALER_STEP, Kind.STEP)),
        Move(Kind.UNSCALE, before=(Kind.SCALER_STEP,), along=(Kind.CLIP,)),
        (Insert(Kind.UNSCALE, before=(Kind.SCALER_STEP,)), Move(Kind.CLIP, before=(Kind.SCALER_STEP,))),
        AtBoundary("boundary"),
    ),
)
