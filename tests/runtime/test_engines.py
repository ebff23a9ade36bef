"""An engine that counts micro-steps, steps, and moves the schedule on by itself: calls and attributes of DeepSpeed's.

The stand-in has what is read of `deepspeed/runtime/engine.py` of 0.19.8; the program runs as with the real one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.forked import run_module

ENGINE = """
import torch


class DeepSpeedEngine:
    def __init__(self, model, optimizer, lr_scheduler, config):
        self.module, self.optimizer, self.lr_scheduler, self.config = model, optimizer, lr_scheduler, config
        self._is_gradient_accumulation_boundary, self.micro_steps = None, 0

    def __call__(self, x):
        return self.module(x)

    def gradient_accumulation_steps(self):
        return self.config["gradient_accumulation_steps"]

    def managed_gradient_accumulation(self):
        return self.config.get("managed_gradient_accumulation", True)

    def set_gradient_accumulation_boundary(self, is_boundary):
        self._is_gradient_accumulation_boundary = is_boundary

    def is_gradient_accumulation_boundary(self):
        if self._is_gradient_accumulation_boundary is not None:
            return self._is_gradient_accumulation_boundary
        return (self.micro_steps + 1) % self.gradient_accumulation_steps() == 0

    def backward(self, loss):
        loss = loss / self.gradient_accumulation_steps()
        loss.backward()

    def _take_model_step(self):
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.lr_scheduler.step()

    def step(self):
        if not self.managed_gradient_accumulation() or self.is_gradient_accumulation_boundary():
            self._take_model_step()
        self.micro_steps += 1


def initialize(model, optimizer, lr_scheduler, config):
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    optimizer.zero_grad()
    return DeepSpeedEngine(model, optimizer, lr_scheduler, config), optimizer, None, lr_scheduler
"""
FLAT = (
    ENGINE.replace(
        "        loss.backward()\n",
        """        loss.backward()
        taken = torch.cat([one.grad.reshape(-1) for one in self.module.parameters()])
        self.taken = taken if self.taken is None else self.taken + taken
        for one in self.module.parameters():
            one.grad = None
""",
    )
    .replace(
        "        self.optimizer.step()\n",
        """        self.flat.grad, self.taken = self.taken, None
        self.optimizer.step()
        torch.nn.utils.vector_to_parameters(self.flat.detach(), self.module.parameters())
""",
        1,
    )
    .replace(
        "None, 0\n",
        """None, 0
        self.flat, self.taken = torch.nn.utils.parameters_to_vector(model.parameters()).detach().requires_grad_(), None
        optimizer.param_groups[0]["params"] = [self.flat]
        optimizer.state.clear()
""",
    )
)
"""Gradients are gathered elsewhere, and what is stepped is one flat copy (`deepspeed/runtime/zero/stage3.py`)."""
RIGHT = """
import deepspeed
import torch

torch.manual_seed(0)
model = torch.nn.Linear(8, 3)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (1 + n))
config = {"gradient_accumulation_steps": 4}
engine, optimizer, _, scheduler = deepspeed.initialize(model, optimizer, scheduler, config)
for step in range(32):
    loss = torch.nn.functional.cross_entropy(engine(torch.randn(4, 8)), torch.randint(0, 3, (4,)))
    engine.backward(loss)
    engine.step()
"""
STEP = "    engine.step()\n"
GATED = "    if (step + 1) % 4 == 0:\n        engine.step()\n"


@pytest.fixture
def reported(tmp_path):
    """The report of a program that is run with the engine."""
    package = tmp_path / "site-packages" / "deepspeed"
    (package / "runtime").mkdir(parents=True)
    (package / "__init__.py").write_text("from deepspeed.runtime.engine import initialize\n")
    (package / "runtime" / "__init__.py").write_text("")

    def run(source: str, engine: str = ENGINE) -> dict:
        (package / "runtime" / "engine.py").write_text(engine)
        (tmp_path / "train.py").write_text(source)
        done = run_module("runtime_guard", ["--report", "report.json", "train.py"], tmp_path, paths=[package.parent])
        assert done.status == 0, done.stderr
        return json.loads((tmp_path / "report.json").read_text())

    return run


def found(report, source):
    rows = source.splitlines()
    return [(one["code"], rows[one["site"]["line"] - 1].strip()) for one in report["violations"]]


def test_a_right_program_has_its_windows_and_no_other(reported):
    report = reported(RIGHT)
    assert report["violations"] == []
    assert report["windows"]["micro_steps"] == {"4": 8}


def test_a_step_that_is_gated_by_hand_is_told(reported):
    source = RIGHT.replace(STEP, GATED)
    report = reported(source)
    assert found(report, source) == [("gated-framework-step", "engine.step()")]
    assert "once in 4 x 4" in report["violations"][0]["message"]


def test_a_gate_by_hand_is_right_where_the_engine_does_not_count(reported):
    source = RIGHT.replace(STEP, GATED)
    unmanaged = source.replace('_steps": 4}', '_steps": 4, "managed_gradient_accumulation": False}')
    told = source.replace(
        "    engine.backward", "    engine.set_gradient_accumulation_boundary((step + 1) % 4 == 0)\n    engine.backward"
    )
    for program in (unmanaged, told):
        report = reported(program)
        assert report["violations"] == []
        assert report["windows"]["micro_steps"] == {"4": 8}


def test_two_losses_of_a_micro_step_are_not_gated(reported):
    twice = RIGHT.replace(
        "    engine.backward(loss)\n", "    for part in (loss, loss):\n        engine.backward(part)\n"
    )
    twice = twice.replace("engine.backward(part)", "engine.backward(part * torch.ones(()))").replace(
        "(loss, loss)", "(loss, engine(torch.randn(4, 8)).square().mean())"
    )
    assert "gated-framework-step" not in [one["code"] for one in reported(twice)["violations"]]


@pytest.mark.parametrize("where", ["before", "after"])
def test_the_engine_s_schedule_stepped_again_is_told(reported, where):
    again = "    if (step + 1) % 4 == 0:\n        scheduler.step()\n"
    source = RIGHT.replace(STEP, again + STEP if where == "before" else STEP + again)
    assert found(reported(source), source) == [("gated-framework-step", "scheduler.step()")]


def test_what_is_stepped_while_the_engine_is_made_witnesses_nothing(reported):
    source = RIGHT.replace("self.lr_scheduler", "None").replace(STEP, STEP + "    other.step()\n")
    source = source.replace(
        "config =", "other = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 0.9**n)\nconfig ="
    )
    report = reported(source)
    rows = source.splitlines()
    told = [one["previous"] for one in report["violations"] if one["previous"] is not None]
    assert not any("initialize" in rows[one["line"] - 1] for one in told)
    assert ("scheduler-per-micro-step", "other.step()") in found(report, source)


def test_gradients_that_are_taken_along_into_a_flat_copy_are_not_erased(reported):
    report = reported(RIGHT, FLAT)
    assert report["violations"] == []
    assert report["windows"]["micro_steps"] == {"4": 8}
    assert report["not_covered"] == []
    assert report["optimizers"][0]["weight_sum"]["graph"]["last"] == pytest.approx(1.0)
    assert report["optimizers"][0]["weight_sum"]["ledger"]["last"] == pytest.approx(1.0)


def test_what_steps_a_flat_copy_is_seen_to_be_gated_by_hand(reported):
    source = RIGHT.replace(STEP, GATED)
    assert found(reported(source, FLAT), source) == [("gated-framework-step", "engine.step()")]


SHARING = ENGINE.replace(
    "        self.optimizer.step()\n",
    """        for one in self.module.parameters():
            torch.distributed.all_reduce(one.grad)
            one.grad /= 2
        self.optimizer.step()
""",
    1,
)
GROUP = """
import os
torch.distributed.init_process_group(
    "gloo", init_method=f"file://{os.getcwd()}/group", rank=int(os.environ["RANK"]), world_size=2
)
torch.manual_seed(int(os.environ["RANK"]))
"""


def test_a_mean_over_the_ranks_is_no_factor(tmp_path, reported):
    package = tmp_path / "site-packages" / "deepspeed" / "runtime" / "engine.py"
    package.write_text(SHARING)
    source = RIGHT.replace("torch.manual_seed(0)\n", GROUP)
    (tmp_path / "train.py").write_text(source)
    paths = os.pathsep.join([str(tmp_path / "site-packages"), str(Path(__file__).parents[2])])
    command = [sys.executable, "-W", "ignore", "-m", "runtime_guard", "--report", "report.json", "train.py"]
    ranks = [
        subprocess.Popen(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths, "RANK": str(rank)})
        for rank in range(2)
    ]
    assert [rank.wait(120) for rank in ranks] == [0, 0]
    weights = json.loads((tmp_path / "report.json").read_text())["optimizers"][0]["weight_sum"]
    assert weights["graph"]["last"] == pytest.approx(1.0)
    assert weights["ledger"] is None
