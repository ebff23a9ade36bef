"""Weight averages (EMA, SWA): who keeps them, and the call that takes the model's present weights in.

torch 2.13 `torch/optim/swa_utils.py`, diffusers 0.36 and timm 1.0 `model_ema.py`, `torch_ema` 0.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import ending, within

AVERAGES: Mapping[str, str] = {
    "torch.optim.swa_utils.AveragedModel": "update_parameters",
    "diffusers.training_utils.EMAModel": "step",
    "diffusers.EMAModel": "step",
    "timm.utils.ModelEma": "update",
    "timm.utils.ModelEmaV2": "update",
    "timm.utils.ModelEmaV3": "update",
    "timm.utils.model_ema.ModelEma": "update",
    "timm.utils.model_ema.ModelEmaV2": "update",
    "timm.utils.model_ema.ModelEmaV3": "update",
    "torch_ema.ExponentialMovingAverage": "update",
}
"""Classes of averages, and the method that updates one."""

UPDATES = frozenset(AVERAGES.values())
BY_HAND = "<average by hand>"
"""What a loop that blends the parameters of a model into those of an average goes by: it is handed both."""

_NAMED, _OF_NUMBERS = ending(words.AVERAGE), within(words.NUMBER_AVERAGED)
_ITSELF, _UPDATE, _COUNT = within(words.AVERAGE_ITSELF), within(words.AVERAGE_UPDATE), within(words.NOW_AND_THEN)


def is_average(name: str) -> bool:
    """Whether a name is what people call an average of weights, and not one of numbers."""
    return _NAMED(name) and not _OF_NUMBERS(name)


def updates_one(name: str) -> bool:
    """Whether a function is called what people call one that takes the weights of a model into an average."""
    return _UPDATE(name) and not _OF_NUMBERS(name)


def moved(handed: Sequence[str]) -> int | None:
    """Which of the two things that such a function is handed first is the model, by what they are called; None where
    they do not tell, or where it is handed a count: it may leave most calls out."""
    named = [_ITSELF(text) for text in handed[:2]]
    if named.count(True) != 1 or len(named) < 2 or any(map(_COUNT, handed[2:])):
        return None
    return named.index(False)
