"""How a window's length is written where the code does not speak of it."""

import pytest

from tests.fix.mended import mended

IN_A_METHOD = """\
import torch
from torch import nn


class Trainer:
    accumulate = 3

    def __init__(self):
        self.net = nn.Linear(3, 1)
        self.opt = torch.optim.SGD(self.net.parameters(), 0.01)

    def do(self, loss, last):
        loss.backward()
        if not last:
            return
        self.opt.step()
        self.opt.zero_grad()

    def fit(self, steps):
        for i in range(steps):
            self.do(self.net(torch.randn(8, 3)).pow(2).mean(), (i + 1) % self.accumulate == 0)


Trainer().fit(9)
"""


@pytest.mark.parametrize("line", ["    accumulate = 3\n", ""])
def test_a_method_that_does_not_speak_of_the_window_is_given_the_attribute_of_its_object(line):
    """Of a class attribute, or of one that the constructor sets."""
    made = "" if line else "        self.accumulate = 3\n"
    source = IN_A_METHOD.replace("    accumulate = 3\n\n", line + "\n" if line else "")
    source = source.replace("        self.net = nn", made + "        self.net = nn")
    _, after, done = mended(source)
    assert done == ["missing-loss-division"]
    assert after.data.decode() == source.replace("loss.backward()", "(loss / self.accumulate).backward()")
