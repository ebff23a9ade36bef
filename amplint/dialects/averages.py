"""Weight averages (EMA, SWA): who keeps them, and the call that takes the model's present weights in.

torch 2.13 `torch/optim/swa_utils.py`, diffusers 0.36 and timm 1.0 `model_ema.py`, `torch_ema` 0.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

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
_NAMED = re.compile(r"(?i)(^|_)(ema|swa)(_?(model|net|unet|weights?|params?|parameters))?$")
_OF_NUMBERS = re.compile(r"(?i)loss|acc|norm|metric|score|time|grad|reward|lr")


def is_average(name: str) -> bool:
    """Whether a name is what people call an average of weights, and not one of numbers."""
    return bool(_NAMED.search(name)) and not _OF_NUMBERS.search(name)
