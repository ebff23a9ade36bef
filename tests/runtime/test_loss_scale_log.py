"""The dynamic loss scale as scalars, in a loop without a framework."""

from __future__ import annotations

import torch
from torch import nn

from runtime_guard import guard
from runtime_guard.bridges.loops import watch
from runtime_guard.bridges.loss_scale import LossScaleLog


def step(model, optimizer, scaler, x):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.mse_loss(model(x), torch.zeros(4, 3))
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def parts(**options):
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    return model, torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cpu", init_scale=64.0, **options)


def test_growths_and_skips_are_counted():
    model, optimizer, scaler = parts(growth_interval=2)
    with guard(optimizer, scaler=scaler, mode="record") as found:
        log = LossScaleLog(found)
        assert log.write(0) == {}
        for _ in range(4):
            step(model, optimizer, scaler, torch.randn(4, 4))
        assert log.write(4) == {"loss_scale": 256.0, "loss_scale/skipped_steps": 0.0, "loss_scale/growths": 2.0}
        step(model, optimizer, scaler, torch.full((4, 4), float("inf")))
        assert log.write(5) == {"loss_scale": 128.0, "loss_scale/skipped_steps": 1.0, "loss_scale/growths": 2.0}
        log.close()


def test_several_scalers_are_told_apart():
    first, second = parts(), parts()
    with guard(mode="record") as found:
        for model, optimizer, scaler in (first, second):
            step(model, optimizer, scaler, torch.randn(4, 4))
        names = LossScaleLog(found).scalars()
    assert {"loss_scale/GradScaler#1", "loss_scale/GradScaler#2"} <= set(names)


def test_a_scaler_that_was_made_before_anybody_listened_is_asked_for_its_interval():
    model, optimizer, scaler = parts(growth_interval=20)
    with guard(mode="record") as found:
        step(model, optimizer, scaler, torch.randn(4, 4))
    assert [one.code for one in found.violations] == ["short-growth-interval"]


class Engine:
    """What an Accelerator says of itself."""

    def __init__(self, optimizer, scaler):
        self._optimizers, self._schedulers, self.scaler = [optimizer], [], scaler


def test_what_an_engine_holds_is_known_from_the_start():
    _, optimizer, scaler = parts()
    with watch(Engine(optimizer, scaler), mode="record") as found:
        pass
    assert found.recorder.optimizers.of(optimizer) is not None
    assert found.recorder.scalers.of(scaler) is not None
