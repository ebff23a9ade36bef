"""Which functions act only through others."""

import pytest

from amplint.flow import program as ir
from amplint.lower.passing_on import passing_on
from tests.lower.lowered import program

TRAIN = """
def train(options):
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()

def main(options):
    train(options)

"""


def names(text):
    module = program(text)
    functions = {id(node): node.name for node in module.body if isinstance(node, ir.Function)}
    return {functions[one]: {functions[other] for other in many} for one, many in passing_on(module).items()}


def test_one_that_calls_another_passes_on():
    assert names(TRAIN) == {"main": {"train"}}


@pytest.mark.parametrize(
    "own",
    [
        "optimizer.step()",
        "for fold in folds:\n        train(fold)",
        "while better():\n        train(options)",
        "def again():\n        return train(options)",
    ],
)
def test_one_that_also_works_itself_does_not(own):
    assert set(names(f"{TRAIN}def run(options):\n    train(options)\n    {own}\n")) == {"main"}
