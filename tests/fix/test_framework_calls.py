"""A call of torch is written as the framework's own where that takes the same, and is left to the user where not."""

from __future__ import annotations

import pytest

from tests.fix.mended import mended

FAIRSEQ = """\
import torch
from fairseq import optim


def train(cfg, model, loader, criterion):
    optimizer = optim.FP16Optimizer.build_optimizer(cfg, model.parameters())
    for sample in loader:
        optimizer.zero_grad()
        loss, sample_size, logging_output = criterion(model, sample)
        optimizer.backward(loss)
        optimizer.step()
"""
APEX = """\
import torch
from apex.fp16_utils import FP16_Optimizer


def train(model, loader, criterion):
    optimizer = FP16_Optimizer(torch.optim.SGD(model.parameters(), lr=0.1), dynamic_loss_scale=True)
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        optimizer.backward(loss)
        optimizer.step()
"""
BACKWARD = "        optimizer.backward(loss)\n"
CLIP = "        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"


def written(source: str) -> str:
    _, after, _ = mended(source)
    return after.data.decode()


@pytest.mark.parametrize("window", [FAIRSEQ, APEX])
def test_a_backward_past_the_framework_goes_through_it(window):
    assert written(window.replace(BACKWARD, "        loss.backward()\n")) == window


@pytest.mark.parametrize("window", [FAIRSEQ, APEX])
def test_a_clip_that_takes_no_parameters_is_not_put_in_the_place_of_one_that_does(window):
    clipped = window.replace(BACKWARD, BACKWARD + CLIP)
    assert written(clipped) == clipped
