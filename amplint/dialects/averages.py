"""Weight averages (EMA, SWA): who keeps them, and the call that takes the model's present weights in.

torch 2.13 `torch/optim/swa_utils.py`, diffusers 0.36 and timm 1.0 `model_ema.py`, `torch_ema` 0.3.
"""

from __future__ import annotations

from collections.abc import Mapping

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
_NAMED, _OF_NUMBERS = ending(words.AVERAGE), within(words.NUMBER_AVERAGED)


def is_average(name: str) -> bool:
    """Whether a name is what people call an average of weights, and not one of numbers."""
    return _NAMED(name) and not _OF_NUMBERS(name)
