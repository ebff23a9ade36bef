"""How serious it is that a total keeps losses: without end, or until the window is over."""

import pytest

from amplint.analysis import findings_of
from amplint.findings import Severity

WINDOW = """\
import torch
from torch import nn
from torch.nn import functional as F


class Trainer:
    def __init__(self, model: nn.Module, loader, accum_steps):
        self.model, self.loader, self.accum_steps = model, loader, accum_steps
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def update(self):
        total = torch.zeros([])
        self.optimizer.zero_grad()
        for x, y in self.loader:
            loss = F.cross_entropy(self.model(x), y)
            (loss / self.accum_steps).backward()
            total += loss
STEP
        return float(total)
"""


@pytest.mark.parametrize(
    ("step", "severity"),
    [
        ("        self.optimizer.step()", Severity.WARNING),
        ("            self.optimizer.step()\n            self.optimizer.zero_grad()", Severity.ERROR),
    ],
)
def test_a_total_that_keeps_losses_is_an_error_where_updates_come_between(step, severity):
    found = findings_of(WINDOW.replace("STEP", step), "example.py")
    assert [one.severity for one in found if one.code == "retained-graph"] == [severity]


NAMED = """\
import torch


def train(model, optimizer, criterion, loader, accum):
    BEFORE
    for batch in loader:
        optimizer.zero_grad()
        totals = {"loss": 0.0}
        for i in range(accum):
            loss = criterion(model(batch[i].x), batch[i].y)
            for name in ["loss"]:
                totals[name] = totals[name] + loss
            (loss / accum).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(("anew", "severity"), [(True, Severity.WARNING), (False, Severity.ERROR)])
def test_a_total_that_a_loop_over_names_adds_to_begins_anew_with_the_window_around_it(anew, severity):
    begins = '        totals = {"loss": 0.0}\n'
    text = (
        NAMED.replace("    BEFORE\n", "")
        if anew
        else NAMED.replace(begins, "").replace("BEFORE", 'totals = {"loss": 0.0}')
    )
    found = findings_of(text, "example.py")
    assert [one.severity for one in found if one.code == "retained-graph"] == [severity]
