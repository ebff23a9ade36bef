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


TWO_MODELS = """\
import itertools

import torch
from accelerate import Accelerator


def train(first, second, loader):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.AdamW(itertools.chain(first.parameters(), second.parameters()), lr=0.1)
    first, second, optimizer, loader = accelerator.prepare(first, second, optimizer, loader)
    for x in loader:
        optimizer.zero_grad()
        accelerator.backward(first(x).mean() + second(x).mean())
"""
OF_THE_FIRST = "        torch.nn.utils.clip_grad_norm_(first.parameters(), 1.0)\n"
OF_THE_SECOND = "        torch.nn.utils.clip_grad_norm_(second.parameters(), 1.0)\n"
STEP = "        optimizer.step()\n"


def test_of_two_clips_for_one_step_none_is_changed_alone():
    both = TWO_MODELS + OF_THE_FIRST + OF_THE_SECOND + STEP
    before, after, _ = mended(both)
    assert [finding.code for finding in before.findings] == ["bypassed-framework-clip"]
    assert after.script.text == both
    one = "        accelerator.clip_grad_norm_(first.parameters(), 1.0)\n"
    assert written(TWO_MODELS + OF_THE_FIRST + STEP) == TWO_MODELS + one + STEP


CRITIC = """\
import torch
from accelerate import Accelerator


def train(critic, makes, loader, criterion):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.AdamW(critic.parameters(), lr=0.1)
    critic, optimizer, loader = accelerator.prepare(critic, optimizer, loader)
    for x, yes, no in loader:
        optimizer.zero_grad()
        real = criterion(critic(x), yes)
        accelerator.backward(real)
        fake = criterion(critic(makes(x)), no)
        accelerator.backward(fake)
        optimizer.step()
"""


def test_all_backwards_of_a_window_go_through_the_framework_together():
    raw = CRITIC.replace("accelerator.backward(real)", "real.backward()")
    raw = raw.replace("accelerator.backward(fake)", "fake.backward()")
    assert written(raw) == CRITIC


def test_a_backward_is_left_where_another_one_of_its_window_is_out_of_reach():
    helper = "def back(loss):\n    loss.backward()\n\n\n"
    raw = CRITIC.replace("def train", helper + "def train").replace("accelerator.backward(real)", "back(real)")
    raw = raw.replace("accelerator.backward(fake)", "fake.backward()")
    before, after, _ = mended(raw)
    assert "bypassed-framework-backward" in {finding.code for finding in before.findings}
    assert after.script.text == raw
