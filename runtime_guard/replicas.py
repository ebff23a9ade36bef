"""A digest of each rank's copy of the parameters that DistributedDataParallel keeps alike.

Every rank adds its own up: the bits of each parameter as integers, on the device that they are on, whose sum is the
same in whatever order it is made. One number for each parameter goes to the host, when the run or its process group
ends; nobody takes part in a collective. A copy that is not meant to be alike is not looked at: parameters that are not
trained or that the wrapper was told to ignore, and models with a communication hook, which may average later.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def digest(models: Iterable[Any]) -> str | None:
    """What stands for the copies of some wrapped models; None if there is nothing to compare."""
    every = list(models)
    if not every or any(getattr(model, "_comm_hooks", None) for model in every):
        return None
    sums = [_sum(one) for model in every for one in _alike(model)]
    if not sums or any(one is None for one in sums):
        return None
    numbers = torch.stack([one.cpu() for one in sums if one is not None]).tolist()
    return hashlib.sha256(repr(numbers).encode()).hexdigest()[:16]


def _alike(model: Any) -> list[Tensor]:
    ignored = set(getattr(model, "parameters_to_ignore", ()))
    return [one for name, one in model.module.named_parameters() if one.requires_grad and name not in ignored]


def _sum(parameter: Tensor) -> Tensor | None:
    """The sum of a parameter's bits; None of a tensor that is no plain one."""
    held = parameter.detach()
    if type(held) is not Tensor or held.layout is not torch.strided or held.element_size() not in _INTEGERS:
        return None
    bits = held.contiguous().view(_INTEGERS[held.element_size()])
    return bits.sum(dtype=torch.int64)
