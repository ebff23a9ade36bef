"""A fix is proved in the files that import the mended one, too."""

from __future__ import annotations

import pytest

HELPER = """\
def train(model, loader, criterion, optimizer, accum_steps):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        loss.backward()
        if (i + 1) % accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
"""
MENDED = HELPER.replace("loss.backward()", "(loss / accum_steps).backward()")
CALLER = """\
import torch
from torch import nn

from helper import train

ACCUM_STEPS = 4
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
entropy = nn.CrossEntropyLoss()
loader = [(torch.randn(8, 4), torch.randint(2, (8,))) for _ in range(8)]


def criterion(outputs, targets):
    return entropy(outputs, targets)DIVIDED


optimizer.zero_grad()
train(model, loader, criterion, optimizer, ACCUM_STEPS)
"""


@pytest.mark.parametrize(("divided", "helper"), [("", MENDED), (" / ACCUM_STEPS", HELPER)])
@pytest.mark.parametrize("named", [["helper.py", "train.py"], ["."]])
def test_a_fix_that_puts_another_file_wrong_is_only_shown(amplint, project, write, divided, helper, named):
    write({"helper.py": HELPER, "train.py": CALLER.replace("DIVIDED", divided)})
    amplint("--fix", "--unsafe-fixes", "--no-cache", *named, analysis=None)
    assert (project / "helper.py").read_text() == helper


CRITERION = """\
import torch.nn.functional as functional

ACCUM_STEPS = 4


def loss_of(outputs, targets):
    return functional.cross_entropy(outputs, targets)
"""
LOOP = """\
from losses import ACCUM_STEPS, loss_of


def train(model, loader, optimizer):
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        loss = loss_of(model(x), y)
        loss.backward()
        if (i + 1) % ACCUM_STEPS == 0:
            optimizer.step()
            optimizer.zero_grad()
"""


@pytest.mark.parametrize("how", ["--fix", "--diff"])
def test_of_files_that_import_each_other_each_is_judged_with_those_before_it_mended(amplint, project, write, how):
    """Two files that use one function: whatever is divided, it is divided once."""
    more = {f"other{n}.py": "loss.backward()\n" for n in range(12)}
    write({"losses.py": CRITERION, "first.py": LOOP, "second.py": LOOP.replace("def train", "def fit"), **more})
    told = amplint(how, "--unsafe-fixes", "--no-cache", "--jobs", "2", ".", analysis=None)
    said = told.out if how == "--diff" else "".join(path.read_text() for path in project.glob("*.py"))
    assert said.count("/ ACCUM_STEPS") == 2
