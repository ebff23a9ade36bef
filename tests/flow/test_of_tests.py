"""What a file of tests does wrong is a warning: no training depends on it."""

import pytest

from amplint.analysis import findings_of

PROGRAM = """\
import torch


def {name}(model, criterion, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("file", "name", "severity"),
    [
        ("tests/test_step.py", "test_a_step", "warning"),
        ("step_test.py", "test_a_step", "warning"),
        ("test_step.py", "train", "error"),  # no test is in it
        ("train.py", "test_a_step", "error"),  # pytest does not look there
    ],
)
def test_a_test_only_warns(file, name, severity):
    (found,) = findings_of(PROGRAM.format(name=name), file)
    assert (found.code, found.severity.value) == ("missing-zero-grad", severity)
