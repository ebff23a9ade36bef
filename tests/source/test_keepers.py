"""Classes that keep what they are handed, by their syntax."""

import ast

import pytest

from amplint.source.keepers import handed, keepers, keeps

METER = """class Meter:
    def __init__(self):
        self.sum = 0

    def update(self, value, n=1):
        self.sum += value * n

    def log(self, key, value):
        self.values[key].append(value)

    def latest(self, value):
        self.value = value
"""


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("meter.update(loss, x.size(0))", {"update"}),
        ("history.log('loss', loss)", {"log"}),
        ("self.meter.update(outputs.loss)", {"update"}),
        ("meter.update(loss.item(), 4)", set()),
        ("meter.update(float(loss), 4)", set()),
        ("meter.update(accuracy, 4)", set()),
    ],
)
def test_a_loss_is_handed_over_as_it_is(text, names):
    assert handed(ast.walk(ast.parse(text))) == names


@pytest.mark.parametrize(("name", "expected"), [("update", True), ("log", True), ("latest", False), ("step", False)])
def test_a_class_keeps_what_one_of_its_methods_adds(name, expected):
    (unit,) = ast.parse(METER).body
    assert isinstance(unit, ast.ClassDef)
    assert keeps(unit, {name}) is expected


def test_all_of_a_class_that_keeps_something_is_kept():
    tree = ast.parse(METER)
    (unit,) = tree.body
    assert isinstance(unit, ast.ClassDef)
    assert keepers(ast.walk(tree), {"update"}) == {id(one) for one in unit.body}


def test_a_long_class_is_left_to_the_scout():
    text = METER + "\n    def more(self):\n" + "        pass\n" * 200
    (unit,) = ast.parse(text).body
    assert isinstance(unit, ast.ClassDef)
    assert not keeps(unit, {"update"})
