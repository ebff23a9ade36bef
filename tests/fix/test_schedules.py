"""A schedule that steps too early is an error only where it is known what its step does, and that a value is lost."""

import pytest

from amplint.analysis import findings_of
from amplint.findings import Severity
from tests.fix.mended import mended

TRAINING = """\
import torch
from hydra.utils import instantiate
from torch.optim import lr_scheduler
from transformers import get_linear_schedule_with_warmup


def train(model, loader, criterion, lr_sched, options):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {made}
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        lr_sched.step()
        optimizer.step()
"""
FROM_THE_FIRST = (
    "lr_sched = lr_scheduler.ExponentialLR(optimizer, 0.999)",
    "lr_sched = lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.999)",
    "lr_sched = lr_scheduler.MultiStepLR(optimizer, [1, 400])",
    "lr_sched = get_linear_schedule_with_warmup(optimizer, 10, 1000)",
)
HOLDING = (
    "lr_sched = lr_scheduler.StepLR(optimizer, step_size=200_000, gamma=0.5)",
    "lr_sched = lr_scheduler.MultiStepLR(optimizer, milestones=[500, 900])",
    "lr_sched = lr_scheduler.ConstantLR(optimizer)",
    "lr_sched = lr_scheduler.StepLR(optimizer, options.every)",
)
UNSEEN = (
    "print(options)",
    "lr_sched: torch.optim.lr_scheduler.LRScheduler = instantiate(options.schedule, optimizer=optimizer)",
    "lr_sched = options.schedules[options.name](optimizer)",
)


def _told(made: str) -> tuple[Severity, str]:
    (found,) = findings_of(TRAINING.format(made=made), "example.py")
    assert found.code == "scheduler-before-optimizer"
    return found.severity, found.message


@pytest.mark.parametrize("made", FROM_THE_FIRST)
def test_the_first_value_of_a_known_schedule_that_is_never_used_is_an_error(made):
    severity, message = _told(made)
    assert severity is Severity.ERROR
    assert message.endswith("the first value of the schedule is never used")


@pytest.mark.parametrize("made", HOLDING)
def test_a_schedule_whose_first_value_holds_only_changes_one_step_early(made):
    severity, message = _told(made)
    assert severity is Severity.WARNING
    assert message.endswith("every change of the learning rate comes one step early")


@pytest.mark.parametrize("made", UNSEEN)
def test_a_schedule_that_nobody_saw_being_made_may_set_the_rate_of_the_step_to_come(made):
    severity, message = _told(made)
    assert severity is Severity.WARNING
    assert message.endswith("if it is one of torch's")


@pytest.mark.parametrize("made", [*FROM_THE_FIRST, *HOLDING, *UNSEEN])
def test_no_schedule_is_moved_by_a_safe_fix(made):
    source = TRAINING.format(made=made)
    assert mended(source, ("safe",))[2] == []
    _, after, done = mended(source)
    assert done == ["scheduler-before-optimizer"]
    assert not after.findings
