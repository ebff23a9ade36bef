"""A trainer's `compute_loss` does not take, or does not use, the count over which its loss is due to be normalized.

## What happens

Since transformers 4.46 `Trainer.training_step` calls `compute_loss(model, inputs, num_items_in_batch=...)`: the number
of labels in the whole window. An override whose signature has no place for it raises a TypeError at the first step.

One that takes it and does not use it returns the mean over its own micro-batch. The Trainer divides by the window only
where it believes that nobody else did: if the model's `forward` takes `**kwargs`, as that of nearly every language
model does, and the batches have `labels`, it does not. The gradient is then `gradient_accumulation_steps` times too
large, and a clip cuts that much more. The same goes for `super().compute_loss(...)` without passing the count on.

A function that is handed over as `compute_loss_func` is called with the count as well, and the Trainer then divides
nothing, whatever the model; nor does that of ms-swift whose labels are tokens, of what it finds in `loss_map`.

## Why it is easy to miss

The loss that is logged grows with `gradient_accumulation_steps`, which looks like a matter of reporting; Adam hides the
larger gradient, until the clip bites. Under a window of one micro-batch nothing is wrong. In TRL's `SFTTrainer` the
model takes `**kwargs` for certain, and it is an error; on a plain `Trainer` it depends on the model, and is a warning.

## Example

```python bad whole static-only -- needs transformers
from transformers import Trainer


class DistillationTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):  # expect: ignored-num-items-in-batch
        outputs = model(**inputs)
        loss = outputs.loss + self.distance(outputs.logits, inputs)
        return (loss, outputs) if return_outputs else loss
```

```python good whole static-only -- needs transformers
from transformers import Trainer


class DistillationTrainer(Trainer):
    loss_is_scaled_for_ga = False  # a mean over the micro-batch: the Trainer divides it by the window

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = outputs.loss + self.distance(outputs.logits, inputs)
        return (loss, outputs) if return_outputs else loss
```

## Messages

- `compute_loss() got an unexpected keyword argument 'num_items_in_batch'` (TypeError, transformers 4.46 and later)

## What to do

Take `num_items_in_batch=None` in the signature. Then either normalize by it (a sum over the labels divided by it; times
`self.accelerator.num_processes` where `average_tokens_across_devices` is on), or pass it on to `super().compute_loss`,
or say that the loss is a mean over the micro-batch: `loss_is_scaled_for_ga = False` in the class (transformers 5.19 and
later), `self.model_accepts_loss_kwargs = False` after `super().__init__(...)` (before).

## Fix

None. What the sum has to be divided by depends on how the loss is made, which only its author knows.

## Source

- `transformers/trainer.py` of transformers 5.23, `training_step` and `compute_loss`
  (https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/trainer.py)
- Fixing gradient accumulation (https://huggingface.co/blog/gradient_accumulation)
"""

from amplint.catalogue.amounts import undivided
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind
from amplint.protocol.facts import Fact
from amplint.protocol.state import Moment

_MISSING = {
    "why": "has no place for `num_items_in_batch`, which the trainer of transformers 4.46 and later hands over: a "
    "TypeError at the first step",
    "remedy": "take `num_items_in_batch=None`, and normalize by it or pass it on to `super().compute_loss`",
}
_MISSING_BEFORE = {
    "method": "training_step",
    "why": f"{_MISSING['why']}, before `compute_loss`, which has none either, is called",
    "remedy": "take `num_items_in_batch=None` in both and pass it on, and normalize by it in `compute_loss`",
}
_METHOD = {"method": "compute_loss"}
_HANDED = {
    "missing": {
        "why": _MISSING["why"],
        "remedy": "take `num_items_in_batch=None`, and divide the sum over the labels by it",
    },
    "ignored": {
        "why": "returns the mean over its own micro-batch, and a trainer that is handed a loss function divides "
        "nothing by the window: the gradient is `gradient_accumulation_steps` times too large",
        "remedy": "divide the sum over the labels by `num_items_in_batch`",
    },
}
"""What is wrong with a function that a trainer is handed for its loss, or finds in a table."""
_IGNORED = {
    "why": "takes `num_items_in_batch` and does not use it: where the model's `forward` takes `**kwargs` the trainer "
    "does not divide by the window, and the gradient is `gradient_accumulation_steps` times too large",
    "remedy": "normalize by it, pass it on to `super().compute_loss`, or declare `loss_is_scaled_for_ga = False`",
}


_ADDED = {
    "why": "adds the mean of its own micro-batch to a loss that is normalized over the whole window: where the model's "
    "`forward` takes `**kwargs` the trainer does not divide by the window, and what is added counts "
    "`gradient_accumulation_steps` times",
    "remedy": "divide what is added by `self.args.gradient_accumulation_steps`",
}


_MAKERS = {"compute_loss": _IGNORED["remedy"], "compute_loss_func": _HANDED["ignored"]["remedy"]}
"""What a trainer calls the function that makes its loss, and what to do about one that ignores the window."""
_SEEN = (
    "returns the mean over its own micro-batch, and the trainer leaves the window to it: the gradient of "
    "{n} micro-batches is {n} times that of the equivalent batch"
)


def _override_undivided(moment: Moment) -> bool:
    """Whether a window of whole means was made by a user's `compute_loss` or `compute_loss_func` for a trainer."""
    backward = moment.last.get(Kind.BACKWARD)
    return backward is not None and not _MAKERS.keys().isdisjoint(backward.detail) and undivided(moment)


def _seen(moment: Moment) -> dict[str, str]:
    n, said = str(moment.ledger.window.micro_steps), moment.last[Kind.BACKWARD].detail
    maker = next(name for name in _MAKERS if name in said)
    return {"method": said[maker], "why": _SEEN.replace("{n}", n), "remedy": _MAKERS[maker]}


def _ignored(fact: Fact) -> dict[str, str] | None:
    if fact.used != "overrides":
        return None
    if "handed" in fact.arguments:
        return {"method": str(fact.arguments["method"]), **_HANDED[str(fact.arguments["num_items_in_batch"])]}
    found = {"missing": _MISSING, "missing before": _MISSING_BEFORE, "ignored": _IGNORED, "added": _ADDED}
    said = found.get(str(fact.arguments["num_items_in_batch"]))
    return {**_METHOD, **said} if said is not None else None


RULE = Rule(
    tier=Tier.ERROR,
    message="this `{method}` {why}",
    advice="{remedy}",
    find=_ignored,
    when=(Condition(STEPS, late=False, also=_override_undivided),),
    place=Kind.BACKWARD,
    because=((Kind.STEP, "the trainer steps here"),),
    words=_seen,
    hides=("missing-loss-division", "mean-of-token-means"),
    begins=("transformers", "4.46"),
)
