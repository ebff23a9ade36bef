"""Optimizers in a wrapper that decides by itself, and steps by a closure."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn

from runtime_guard import guard


class Gated(torch.optim.Optimizer):
    """A wrapper that steps and zeroes on every other call only."""

    def __init__(self, optimizer):
        self.optimizer, self.open = optimizer, False

    @property
    def param_groups(self):
        return self.optimizer.param_groups

    def zero_grad(self, set_to_none=True):
        if self.open:
            self.optimizer.zero_grad(set_to_none)

    def step(self, closure=None):
        if self.open:
            self.optimizer.step(closure)


class Slow(torch.optim.Optimizer):
    """An optimizer around another one, which is one itself."""

    def __init__(self, optimizer):
        super().__init__(optimizer.param_groups, {})
        self.optimizer = optimizer

    def step(self, closure=None):
        self.optimizer.step()


def batch():
    return torch.randn(4, 4), torch.randint(3, (4,))


def test_what_a_wrapper_leaves_out_has_not_happened():
    model = nn.Linear(4, 3)
    optimizer = Gated(torch.optim.SGD(model.parameters(), lr=0.1))
    with guard(optimizer, mode="record") as found:
        for index in range(8):
            optimizer.open = index % 2 == 1
            x, y = batch()
            (nn.functional.cross_entropy(model(x), y) / 2).backward()
            optimizer.step()
            optimizer.zero_grad()
    report = found.report()
    assert report["violations"] == []
    assert report["windows"]["micro_steps"] == {"2": 4}
    assert [one["name"] for one in report["optimizers"]] == ["SGD#1"]


def test_the_last_micro_batch_may_come_from_a_closure():
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def micro_step():
        x, y = batch()
        loss = nn.functional.cross_entropy(model(x), y) / 2
        loss.backward()
        return loss

    with guard(optimizer, mode="record", accumulation_steps=2) as found:
        for _ in range(4):
            for call in (micro_step, partial(optimizer.step, micro_step)):
                call()
            optimizer.zero_grad()
    measured = found.report()["optimizers"][0]["weight_sum"]
    assert measured["graph"]["last"] == pytest.approx(1.0)
    assert measured["ledger"]["last"] == pytest.approx(1.0)


def test_masked_losses_weigh_by_what_is_left_of_them():
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ignored = torch.tensor([False, True, False, False])
    with guard(optimizer, mode="record") as found:
        for _ in range(3):
            x, y = batch()
            losses = -nn.functional.log_softmax(model(x), -1).gather(-1, y[:, None])[:, 0]
            (losses.masked_fill(ignored, 0.0).sum() / 3).backward()
            optimizer.step()
            optimizer.zero_grad()
    assert found.report()["optimizers"][0]["weight_sum"]["graph"]["last"] == pytest.approx(1.0)


def test_an_optimizer_around_another_one_has_windows_of_its_own():
    model = nn.Linear(4, 3)
    optimizer = Slow(torch.optim.SGD(model.parameters(), lr=0.1))
    with guard(optimizer, mode="record") as found:
        for _ in range(3):
            x, y = batch()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()
    report = found.report()
    assert report["violations"] == []
    named = {one["name"].partition("#")[0]: one["weight_sum"]["graph"] for one in report["optimizers"]}
    assert [one["name"] for one in report["optimizers"]] == ["Slow/SGD#1"]  # the gradients are the same
    assert named["Slow/SGD"]["last"] == pytest.approx(1.0)


class Masters:
    """Steps copies of a model's parameters: one for each, or one flat tensor for all."""

    def __init__(self, optimizer, flat):
        self.optimizer, self.flat = optimizer, flat
        self.given = optimizer.param_groups[0]["params"]
        copies = [one.detach().clone().requires_grad_() for one in self.given]
        self.masters = [nn.Parameter(torch.cat([one.detach().reshape(-1) for one in copies]))] if flat else copies
        optimizer.param_groups[0]["params"] = self.masters

    def step(self):
        found = [one.grad for one in self.given]
        found = [torch.cat([one.reshape(-1) for one in found])] if self.flat else [one.clone() for one in found]
        for master, gradient in zip(self.masters, found, strict=True):
            master.grad = gradient
        self.optimizer.step()
        with torch.no_grad():
            parts = self.masters[0].split([one.numel() for one in self.given]) if self.flat else self.masters
            for one, part in zip(self.given, parts, strict=True):
                one.copy_(part.view_as(one))
                one.grad = None


WRAPPERS = {
    "none": lambda optimizer: optimizer,
    "gated": Gated,
    "flat masters": partial(Masters, flat=True),
    "masters": partial(Masters, flat=False),
}


@pytest.mark.parametrize(("steps", "wrong_from"), [(600, None), (5000, 4000)])
@pytest.mark.parametrize("name", WRAPPERS)
def test_every_window_is_counted_for_as_long_as_the_run_lasts(name, steps, wrong_from):
    """Also a mistake that begins late: from then on nothing is divided."""
    model = nn.Linear(4, 3)
    x, y = batch()
    with guard(mode="record") as found:
        optimizer = WRAPPERS[name](torch.optim.SGD(model.parameters(), lr=0.001))
        for index in range(steps):
            divisor = 1 if wrong_from is not None and index >= wrong_from else 4
            (nn.functional.cross_entropy(model(x), y) / divisor).backward()
            if index % 4 == 3:
                optimizer.open = True
                optimizer.step()
                if hasattr(optimizer, "zero_grad"):
                    optimizer.zero_grad()
    report = found.report()
    assert report["windows"]["micro_steps"] == {"4": steps // 4}
    assert {one["code"] for one in report["violations"]} == ({"missing-loss-division"} if wrong_from else set())
    assert report["not_covered"] == []
    found = [one["weight_sum"]["ledger"] for one in report["optimizers"] if one["windows"]]
    assert [one["last"] for one in found] == [pytest.approx(4.0 if wrong_from else 1.0, rel=1e-3)]


def test_an_optimizer_that_is_given_another_model_is_followed_there():
    """The first model lives on, as a teacher; the second has the same shapes."""
    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    x, y = batch()
    with guard(mode="record") as found:
        optimizer = torch.optim.SGD(teacher.parameters(), lr=0.001)
        for index in range(160):
            model = teacher if index < 80 else student
            optimizer.param_groups[0]["params"] = list(model.parameters())
            (nn.functional.cross_entropy(model(x), y) / 4).backward()
            if index % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
    report = found.report()
    assert (report["windows"]["micro_steps"], report["violations"]) == ({"4": 40}, [])
