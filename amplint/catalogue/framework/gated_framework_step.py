"""A framework's step is gated by hand, or done once more, although the framework decides by itself when it happens.

## What happens

DeepSpeed's `engine.step()` counts micro-steps: it does nothing until it has been called `gradient_accumulation_steps`
times. Called only on every N-th micro-step, it steps once in N x N: the batch is N times what was configured, the
learning rate schedule N times too slow, and what is back-propagated in between is reduced at the wrong times.
At the boundary it also steps the optimizer, zeroes its gradients and moves the schedule on that it was given. Whoever
does one of these as well does it twice.

Megatron-Core's schedule (`forward_backward_func`) runs a window whole, and divides by its `num_microbatches`. If the
step, and the zeroing, happen once in several of its calls, each divided by the length of one, the gradient is as many
times too large.

## Why it is easy to miss

It is how a loop looks without DeepSpeed. Where the configuration's window is 1 a gate by hand is right, and where it
holds `managed_gradient_accumulation: False`: the rule speaks only where the configuration is seen to hold the window.
The schedule that `deepspeed.initialize` returns is stepped by `engine.step()`, whoever made it and wherever the
configuration stands.

## Example

```python bad whole static-only -- needs deepspeed
import deepspeed


def train(args, model, loader, criterion):
    config = {"train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": args.accum}
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    for i, (x, y) in enumerate(loader):
        loss = criterion(engine(x), y)
        engine.backward(loss)
        if (i + 1) % args.accum == 0:
            engine.step()  # expect: gated-framework-step
```

```python good whole static-only -- needs deepspeed
import deepspeed


def train(args, model, loader, criterion):
    config = {"train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": args.accum}
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
    for x, y in loader:
        loss = criterion(engine(x), y)
        engine.backward(loss)
        engine.step()
```

## Messages

- no error; the `global_steps` that DeepSpeed reports grow N times too slowly

## What to do

Call `engine.backward(loss)` and `engine.step()` on every micro-step, and nothing else: no `optimizer.step()`, no
`zero_grad()`, and no `scheduler.step()` of the schedule that `deepspeed.initialize` returns. What belongs to an
update (logging, an average of the weights) may ask `engine.is_gradient_accumulation_boundary()` before `engine.step()`.

## Fix

Unsafe: leaves the counting, and what the engine does by itself, to the engine. Where the window was counted
twice, updates become as many times more frequent as it has micro-steps.

## Source

- DeepSpeed, training API (https://deepspeed.readthedocs.io/en/latest/training.html)
- `megatron/core/pipeline_parallel/schedules.py` of megatron-core 0.16, `forward_step_calc_loss`
- `deepspeed/runtime/engine.py` of deepspeed 0.19, `step`, `_take_model_step`, `is_gradient_accumulation_boundary`
"""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.remedy import Delete, Ungate, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.catalogue.through import (
    asked_words,
    counted_twice,
    done_again,
    done_instead,
    gated_by_hand,
    moved_twice,
    stepped_in_a_loop,
    windows_added,
)
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="{what}",
    advice="{remedy}",
    when=(
        Condition(Kind.ASKED, also=gated_by_hand),
        Condition(Kind.ASKED, also=done_again),
        Condition(Kind.ASKED, also=done_instead),
        Condition(STEPS, also=counted_twice),
        Condition(STEPS, also=windows_added),
        Condition(Kind.SCHEDULER_STEP, cadence_steps=at_least(1), also=moved_twice),
    ),
    because=((Kind.BACKWARD, "the framework back-propagates here"),),
    words=asked_words,
    find=stepped_in_a_loop,
    hides=(
        "dropped-tail-window",
        "scheduler-per-micro-step",
        "wrong-loss-divisor",
        "zero-grad-before-step",
        "zero-grad-per-micro-step",
    ),
    remedy=unsafe(
        "leave the counting of micro-steps, and what it does by itself, to the engine",
        Ungate(Kind.ASKED),
        Delete(Kind.ASKED, only="again"),
    ),
)
