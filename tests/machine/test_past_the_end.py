"""A power of a negative base: what is said of a polynomial decay whose horizon is passed."""

import pytest

from amplint.analysis import findings_of

PROGRAM = """\
import math

import torch
from torch import nn

model = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = [(torch.randn(8, 4), torch.randint(3, (8,))) for _ in range(8)]
epochs = 4
power = 0.9
{made}
for epoch in range(epochs):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
        poly.step()
"""
FUNCTION = "poly = torch.optim.lr_scheduler.LambdaLR(optimizer, {})"
CRASHES = [
    FUNCTION.format("lambda step: (1 - step / epochs) ** 0.9"),
    FUNCTION.format("lambda step: (1.0 - float(step) / float(epochs)) ** power"),
    FUNCTION.format("lambda step: ((epochs - step) / epochs) ** 0.9"),
    FUNCTION.format("lambda step: step / 3 if step < warmup else (1 - (step - warmup) / epochs) ** 0.9").replace(
        "poly", "warmup = 3\npoly", 1
    ),
    """\
def decay(step, total):
    done = step / total
    return 0.1 + 0.9 * (1 - done) ** 1.5


"""
    + FUNCTION.format("lambda step: decay(step, epochs)"),
    """\
class Poly(torch.optim.lr_scheduler.LRScheduler):
    def __init__(self, optimizer, max_epochs, power=0.9):
        self.max_epochs = max_epochs
        self.power = power
        super().__init__(optimizer)

    def get_lr(self):
        return [base * (1 - self.last_epoch / self.max_epochs) ** self.power for base in self.base_lrs]


poly = Poly(optimizer, epochs)""",
]
ENDS = [
    FUNCTION.format("lambda step: (1 - step / epochs) ** 2"),
    FUNCTION.format("lambda step: max(0.0, 1 - step / epochs) ** 0.9"),
    FUNCTION.format("lambda step: (1 - min(step, epochs) / epochs) ** 0.9"),
    FUNCTION.format("lambda step: 0.0 if step > epochs else (1 - step / epochs) ** 0.9"),
    FUNCTION.format("lambda step: 1 - (step / epochs) ** 0.9"),
    FUNCTION.format("lambda step: (1 - step / epochs) ** exponent").replace(
        "poly", "exponent = float(input())\npoly", 1
    ),
    """\
def decay(step, total):
    step = min(step, total)
    return (1 - step / total) ** 0.9


"""
    + FUNCTION.format("lambda step: decay(step, epochs)"),
    FUNCTION.format("lambda step: 1 - step / epochs"),
]


def told(made):
    (found,) = findings_of(PROGRAM.format(made=made), "train.py", {})
    assert found.code == "scheduler-horizon-mismatch"
    return found.message


@pytest.mark.parametrize("made", CRASHES)
def test_a_rate_that_becomes_a_complex_number_is_said_to_make_torch_raise(made):
    assert told(made).endswith("and its rate is a complex number from there on, at which torch raises")


@pytest.mark.parametrize("made", ENDS)
def test_a_rate_that_stays_a_number_is_only_small(made):
    assert told(made).endswith("the schedule comes to its end long before the run does")


@pytest.mark.parametrize("made", CRASHES)
def test_torch_raises(made):
    with pytest.raises(RuntimeError, match=r"complex|Complex"):
        exec(PROGRAM.format(made=made), {})


@pytest.mark.parametrize("made", [one for one in ENDS if "input" not in one])
def test_torch_goes_on(made):
    exec(PROGRAM.format(made=made), {})
