"""Frozen values that are made and changed without going through their fields one by one."""

from dataclasses import FrozenInstanceError, dataclass, field

import pytest

from amplint.protocol.values import quickly_made, with_changes


@quickly_made
@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0
    label: str = field(default="", compare=False)


def test_what_is_not_given_has_its_default():
    assert (Point(1).x, Point(1).y, Point(1).label) == (1, 0, "")
    assert (Point(1, 2, label="a").y, Point(1, label="a").label) == (2, "a")


def test_values_are_equal_by_the_fields_that_are_compared():
    assert Point(1) == Point(1, 0, "a") != Point(2)
    assert {Point(1), Point(1, 0), Point(x=1)} == {Point(1)}
    assert repr(Point(1)) == "Point(x=1, y=0, label='')"


def test_a_changed_value_leaves_the_one_before():
    first = Point(1)
    assert (with_changes(first, y=3), first) == (Point(1, 3), Point(1))
    with pytest.raises(FrozenInstanceError):
        first.y = 2
