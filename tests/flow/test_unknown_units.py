"""A schedule whose unit nobody can tell is told as a warning where it steps on every micro-step, one in updates as an
error."""

import pytest

from amplint.analysis import findings_of
from amplint.findings import Severity

TRAINING = """\
import torch
from transformers import get_scheduler


def train(model, loader, criterion, config, scheduler, accum_steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {made}
    for i, (x, y) in enumerate(loader, 1):
        (criterion(model(x), y) / accum_steps).backward()
        if i % accum_steps == 0 or i == len(loader):
            optimizer.step()
            optimizer.zero_grad()
        scheduler.step()
"""
NOBODY_KNOWS = (
    "print(config)",
    'scheduler = get_scheduler("cosine", optimizer, 0, config.total)',
    "scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20_000)",
    "scheduler = config.make_scheduler(optimizer)",
)
UPDATES = (
    'scheduler = get_scheduler("cosine", optimizer, 0, config.epochs * len(loader) // accum_steps)',
    "scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=len(loader) // accum_steps)",
    "scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=config.num_updates)",
)


@pytest.mark.parametrize(
    ("made", "severity"),
    [*((made, Severity.WARNING) for made in NOBODY_KNOWS), *((made, Severity.ERROR) for made in UPDATES)],
)
def test_only_a_unit_that_is_known_makes_an_error(made, severity):
    told = findings_of(TRAINING.format(made=made), "example.py")
    assert [found.severity for found in told if found.code == "scheduler-per-micro-step"] == [severity]
