"""A library that nobody has heard of is taught by a dialect alone: names, and a program of a few lines."""

from textwrap import dedent

import pytest

from amplint.analysis import findings_of
from amplint.dialects.dialect import Dialect

ENGINE = """
class Engine:
    def __init__(self, model, optimizer, accumulate=1):
        self.optimizer = played(optimizer, "optimizer")
        self.accumulate = accumulate
        self.micro_steps = 0

    def train_step(self, loss):
        (loss / self.accumulate).backward()
        self.micro_steps += 1
        if self.micro_steps % self.accumulate == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
"""
FOOLIB = Dialect(
    name="foolib",
    program=ENGINE,
    defines={"foolib.Engine": "Engine"},
    seeds=frozenset({"train_step"}),
)
HEAD = """
import foolib
import torch
from torch import nn

model = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
MADE = "engine = foolib.Engine(model, optimizer, accumulate=4)\n"


def told(loop: str, taught: Dialect) -> list[str]:
    """The rules that speak of a loop, and the statement at which they do."""
    text = HEAD + dedent(loop)
    lines = text.splitlines()
    found = findings_of(text, "train.py", taught=(taught,))
    return [f"{one.code}: {lines[one.place.row - 1].strip()}" for one in found]


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        (
            """
            for x, y in loader:
                engine.train_step(criterion(model(x), y))
            """,
            [],
        ),
        (
            """
            for x, y in loader:
                engine.train_step(criterion(model(x), y) / 4)
            """,
            ["double-loss-division: engine.train_step(criterion(model(x), y) / 4)"],
        ),
        (
            """
            for x, y in loader:
                optimizer.zero_grad()
                engine.train_step(criterion(model(x), y))
            """,
            ["zero-grad-per-micro-step: optimizer.zero_grad()"],
        ),
        (
            """
            for x, y in loader:
                engine.train_step(criterion(model(x), y))
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            """,
            [
                "clip-after-step: nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
                "clip-per-micro-step: nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
            ],
        ),
        (
            """
            for x, y in loader:
                engine.train_step(criterion(model(x), y))
                optimizer.step()
            """,
            ["step-per-micro-step: optimizer.step()"],
        ),
    ],
)
def test_what_is_done_beside_an_invented_engine_is_judged(loop, expected):
    assert told(MADE + dedent(loop), FOOLIB) == expected


RUN = """
def run(function, *args):
    return function(*args)
"""
CALLS = Dialect(name="foolib", program=RUN, framework=False, defines={"foolib.run": "run"})
WINDOW = """
assert len(loader) % 4 == 0
for i, (x, y) in enumerate(loader):
    loss = foolib.run(criterion, model(x), y){divided}
    loss.backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def test_a_function_that_calls_what_it_is_handed_is_as_if_the_user_had_called_it():
    assert told(WINDOW.format(divided=""), CALLS) == ["missing-loss-division: loss.backward()"]
    assert told(WINDOW.format(divided=" / 4"), CALLS) == []


def test_of_a_function_that_nobody_taught_nothing_is_said():
    assert told(WINDOW.format(divided=""), FOOLIB) == []
