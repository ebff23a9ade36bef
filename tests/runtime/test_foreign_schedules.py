"""Schedules that are none of torch's: Megatron-Core's counts from where it is, DeepSpeed's may be told a position."""

from __future__ import annotations

import importlib
import sys

import pytest
import torch
from torch import nn

from runtime_guard import guard

MEGATRON = """
class OptimizerParamScheduler:
    def __init__(self, optimizer):
        self.optimizer, self.num_steps = optimizer, 0
        self.step(0)

    def step(self, increment):
        self.num_steps += increment
        for group in self.optimizer.param_groups:
            group["lr"] = 0.1 / (1 + self.num_steps)

    def load_state_dict(self, state):
        self.step(increment=state["num_steps"])
"""
DEEPSPEED = """
class WarmupLR:
    def __init__(self, optimizer):
        self.optimizer, self.last_batch_iteration = optimizer, -1

    def step(self, last_batch_iteration=None):
        following = self.last_batch_iteration + 1
        self.last_batch_iteration = following if last_batch_iteration is None else last_batch_iteration
        for group in self.optimizer.param_groups:
            group["lr"] = 0.1 / (2 + self.last_batch_iteration)
"""
MODULES = {"megatron.core.optimizer_param_scheduler": MEGATRON, "deepspeed.runtime.lr_schedules": DEEPSPEED}


@pytest.fixture
def load(tmp_path, monkeypatch):
    """What imports a module of a framework's, that is a stand-in."""
    for name, source in MODULES.items():
        path = tmp_path.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True)
        path.write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    for name in list(sys.modules):
        if name.partition(".")[0] in ("megatron", "deepspeed"):
            monkeypatch.delitem(sys.modules, name)
    yield importlib.import_module
    for name in [one for one in sys.modules if one.startswith(("megatron.", "deepspeed."))]:
        del sys.modules[name]


class Chained:
    """A framework's optimizer, of those of torch."""

    def __init__(self, *optimizers):
        self.optimizers = optimizers

    @property
    def param_groups(self):
        return [group for one in self.optimizers for group in one.param_groups]

    def step(self):
        for one in self.optimizers:
            one.step()

    def zero_grad(self):
        for one in self.optimizers:
            one.zero_grad()


def trained(made, moves, windows=6, again=0):
    """What is reported of a loop whose schedule moves on with each update, or `again` with each micro-step."""
    model = nn.Linear(4, 3)
    with guard(mode="record") as found:
        optimizer = Chained(torch.optim.SGD(model.parameters(), lr=0.1))
        scheduler = made(optimizer)
        for _ in range(windows):
            for _ in range(2):
                (nn.functional.cross_entropy(model(torch.randn(4, 4)), torch.randint(3, (4,))) / 2).backward()
                if again:
                    moves(scheduler)
            optimizer.step()
            optimizer.zero_grad()
            if not again:
                moves(scheduler)
    return found.report()


def codes(report):
    return [one["code"] for one in report["violations"]]


@pytest.mark.parametrize("windows", [6, 90])
def test_a_schedule_that_counts_from_where_it_is_steps_once_per_update(load, windows):
    kind = load("megatron.core.optimizer_param_scheduler").OptimizerParamScheduler
    report = trained(kind, lambda scheduler: scheduler.step(increment=8), windows)
    assert codes(report) == []
    assert [(one["name"], one["steps"]) for one in report["schedulers"]] == [("OptimizerParamScheduler", windows)]
    assert "OptimizerParamScheduler once per update" in report["seen"][0]


def test_of_each_micro_step_it_is_told(load):
    kind = load("megatron.core.optimizer_param_scheduler").OptimizerParamScheduler
    report = trained(kind, lambda scheduler: scheduler.step(1), again=1)
    assert codes(report) == ["scheduler-per-micro-step"]


def test_a_position_that_is_restored_is_no_step(load):
    kind = load("megatron.core.optimizer_param_scheduler").OptimizerParamScheduler

    def restored(optimizer):
        made = kind(optimizer)
        made.load_state_dict({"num_steps": 3})
        return made

    report = trained(restored, lambda scheduler: scheduler.step(1))
    assert (codes(report), [one["steps"] for one in report["schedulers"]]) == ([], [6])


@pytest.mark.parametrize("moves", [lambda one: one.step(), lambda one: one.step(one.last_batch_iteration + 1)])
def test_a_schedule_may_be_told_its_position(load, moves):
    kind = load("deepspeed.runtime.lr_schedules").WarmupLR
    report = trained(kind, moves)
    assert (codes(report), [one["steps"] for one in report["schedulers"]]) == ([], [6])


def test_a_schedule_of_an_optimizer_that_nobody_knows_is_left_out(load):
    kind = load("megatron.core.optimizer_param_scheduler").OptimizerParamScheduler
    report = trained(lambda _: kind(Chained()), lambda scheduler: scheduler.step(1))
    assert (codes(report), report["schedulers"]) == ([], [])
