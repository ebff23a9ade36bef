"""What is wrong only where a machine has no bfloat16 is a warning; where a setting asks for float16 it is an error."""

import pytest

from amplint.analysis import findings_of

PROGRAM = """\
import torch


def train(args, model, criterion, loader):
    model.to("cuda", dtype={dtype})
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("dtype", "severity"),
    [
        ("torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16", "warning"),
        ("torch.float16 if args.half else torch.bfloat16", "error"),
    ],
)
def test_an_older_machine_is_told_of_as_such(dtype, severity):
    found = findings_of(PROGRAM.format(dtype=dtype), "train.py")
    assert [(one.code, one.severity.value) for one in found] == [("float16-without-master-weights", severity)]
