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
    "scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, config.rates(config.total))",
    "scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=[config.rates(config.total)])",
)
UPDATES = (
    'scheduler = get_scheduler("cosine", optimizer, 0, config.epochs * len(loader) // accum_steps)',
    "scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=len(loader) // accum_steps)",
    "scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=config.num_updates)",
    "scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: 0.99**update)",
)


@pytest.mark.parametrize(
    ("made", "severity"),
    [*((made, Severity.WARNING) for made in NOBODY_KNOWS), *((made, Severity.ERROR) for made in UPDATES)],
)
def test_only_a_unit_that_is_known_makes_an_error(made, severity):
    told = findings_of(TRAINING.format(made=made), "example.py")
    assert [found.severity for found in told if found.code == "scheduler-per-micro-step"] == [severity]


LIGHTNING = """\
import lightning as L
from transformers import get_linear_schedule_with_warmup


class Model(L.LightningModule):
    def training_step(self, batch, index):
        return self.net(batch).mean()

    def configure_optimizers(self):
        optimizer = self.make_optimizer()
        total = {total}
        return [optimizer], [get_linear_schedule_with_warmup(optimizer, 10, total)]
"""
BY_NAME = ("self.hparams.lr_training_steps", "self.total_steps")
COMPUTED = ("self.trainer.estimated_stepping_batches", "self.hparams.epochs * len(self.train_dataloader())")


@pytest.mark.parametrize(
    ("total", "severity"),
    [*((total, Severity.WARNING) for total in BY_NAME), *((total, Severity.ERROR) for total in COMPUTED)],
)
def test_the_name_of_a_setting_makes_no_error(total, severity):
    (found,) = findings_of(LIGHTNING.format(total=total), "example.py")
    assert found.code == "batch-scheduler-per-epoch"
    assert found.severity is severity
