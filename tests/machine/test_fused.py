"""A fused optimizer is taken for what it does: AdamW, unless its arguments say that it is Adam with coupled decay."""

import pytest

from amplint.analysis import findings_of
from amplint.findings import Severity

LOOP = """
from apex.optimizers import FusedAdam


def train(args, model, loader, criterion):
    optimizer = FusedAdam(model.parameters(), {arguments})
    for i, (x, y) in enumerate(loader):
        criterion(model(x), y).backward()
        if (i + 1) % args.accum == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("arguments", "severity"),
    [
        ("lr=1e-3", Severity.WARNING),
        ("lr=1e-3, weight_decay=0.1", Severity.WARNING),
        ("lr=1e-3, adam_w_mode=False", Severity.WARNING),
        ("lr=1e-3, weight_decay=0.1, adam_w_mode=False", Severity.ERROR),
        ("lr=1e-3, weight_decay=0.1, adam_w_mode=args.decoupled", Severity.ERROR),
    ],
)
def test_missing_division_weighs_what_the_optimizer_feels_of_it(arguments, severity):
    found = findings_of(LOOP.format(arguments=arguments), "train.py", {})
    assert [one.severity for one in found if one.code == "missing-loss-division"] == [severity]
