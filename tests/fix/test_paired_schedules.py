"""A schedule is moved to the steps of its own optimizer, and to no other one's."""

from __future__ import annotations

import pytest

from tests.fix.mended import changed

EARLY = """\
def train(model, critic, loader, criterion, GIVEN):
    for x, y in loader:
        SCHEDULER.step()
        STEPPING.zero_grad()
        loss = criterion(model(x), critic(y))
        loss.backward()
        STEPPING.step()
"""
PER_MICRO_STEP = """\
def train(model, critic, loader, criterion, accum_steps, GIVEN):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), critic(y)) / accum_steps
        loss.backward()
        if (i + 1) % accum_steps == 0:
            STEPPING.step()
            STEPPING.zero_grad()
        SCHEDULER.step()
"""
OWN = [
    ("optimizer, scheduler", "optimizer", "scheduler"),
    ("optimizer, critic_optimizer, scheduler, critic_scheduler", "optimizer", "scheduler"),
    ("optimizer, critic_optimizer, scheduler, critic_scheduler", "critic_optimizer", "critic_scheduler"),
    ("opt_d, opt_g, sched_d", "opt_d", "sched_d"),
    ("optimizerD, optimizerG, schedulerD", "optimizerD", "schedulerD"),
    ("optimizer, cosine_scheduler", "optimizer", "cosine_scheduler"),
    ("optimizer_d, lr_scheduler", "optimizer_d", "lr_scheduler"),
]
OTHERS = [
    ("optimizer, critic_optimizer, scheduler", "critic_optimizer", "scheduler"),
    ("optimizer, critic_optimizer, critic_scheduler", "optimizer", "critic_scheduler"),
    ("opt_d, opt_g, sched_g", "opt_d", "sched_g"),
    ("optimizerD, optimizerG, lr_scheduler", "optimizerD", "lr_scheduler"),
]


def program(text: str, given: str, stepping: str, scheduler: str) -> str:
    return text.replace("GIVEN", given).replace("STEPPING", stepping).replace("SCHEDULER", scheduler)


@pytest.mark.parametrize("text", [EARLY, PER_MICRO_STEP])
@pytest.mark.parametrize(("given", "stepping", "scheduler"), OWN)
def test_a_schedule_goes_to_the_steps_of_its_optimizer(text, given, stepping, scheduler):
    assert len(changed(program(text, given, stepping, scheduler))) == 2


@pytest.mark.parametrize("text", [EARLY, PER_MICRO_STEP])
@pytest.mark.parametrize(("given", "stepping", "scheduler"), OTHERS)
def test_a_schedule_stays_where_another_optimizer_may_be_its_own(text, given, stepping, scheduler):
    assert changed(program(text, given, stepping, scheduler)) == []


ATTRIBUTES = """\
class Trainer:
    def __init__(self, model, optimizers, schedulers):
        self.model = model
        self.optimizer, self.critic_optimizer = optimizers
        self.scheduler, self.critic_scheduler = schedulers

    def train(self, loader, criterion):
        for x, y in loader:
            self.scheduler.step()
            self.critic_scheduler.step()
            self.optimizer.zero_grad()
            self.critic_optimizer.zero_grad()
            loss = criterion(self.model(x), y)
            loss.backward()
            self.critic_optimizer.step()
"""


def test_of_two_attributes_the_one_moves_whose_optimizer_steps():
    call = "            self.critic_scheduler.step()"
    assert changed(ATTRIBUTES) == [f"- {call}", f"+ {call}"]


KNOWN = """\
import torch


def train(model, critic, loader, criterion):
    first = torch.optim.SGD(model.parameters(), lr=0.1)
    second = torch.optim.SGD(critic.parameters(), lr=0.1)
    decay = torch.optim.lr_scheduler.ExponentialLR(second, 0.9)
    for x, y in loader:
        decay.step()
        first.zero_grad()
        second.zero_grad()
        loss = criterion(model(x), critic(y))
        loss.backward()
        first.step()
        second.step()
"""


def test_an_optimizer_that_is_known_needs_no_name():
    assert changed(KNOWN) == ["-         decay.step()", "+         decay.step()"]
