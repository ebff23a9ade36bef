"""What follows from periods that change everything by the same."""

import pytest

from amplint.protocol.cadence import Cadence
from amplint.protocol.window import KEPT, Window
from runtime_guard.figures import POINTS, Curve
from runtime_guard.strides import Uneven, further


def test_counts_grow_on_by_what_they_have_grown():
    steps = [Cadence(updates=at, passed=(2 * at, at, 0), schedule="StepLR") for at in (5, 6, 7)]
    assert further(*steps, times=10) == Cadence(updates=17, passed=(34, 17, 0), schedule="StepLR")


def test_of_the_lengths_of_windows_no_more_are_kept_than_ever():
    steps = [Window(steps=at, lengths=((4,), (2,) * at)) for at in (5, 6, 7)]
    assert further(*steps, times=3) == Window(steps=10, lengths=((4,), (2,) * 10))
    assert further(*steps, times=1000) == Window(steps=1007, lengths=((4,), (2,) * KEPT))


@pytest.mark.parametrize(
    "steps",
    [
        (1, 2, 4),
        (1.0, 2.0, 3.0),
        (True, False, True),
        (None, 1, 2),
        ((1,), (1, 2), (1, 2, 3)),
        ((1,), (1, 1), (2, 1, 1)),
        ({"a": 1}, {"a": 1, "b": 2}, {"a": 1}),
        ("a", "b", "c"),
    ],
)
def test_what_changes_in_another_way_has_to_be_gone_through(steps):
    with pytest.raises(Uneven):
        further(*steps, times=2)


def test_a_stretch_of_a_curve_has_its_ends():
    curve = Curve()
    for at in range(5):
        curve.add(at, 1.0)
    curve.reach(5, 5000, 2.0)
    assert curve.points[-2:] == [(5, 2.0), (5000, 2.0)]
    for at in range(5001, 5001 + POINTS):
        curve.add(at, 3.0)
    curve.reach(7001, 7001, 4.0)
    assert curve.every == 2
    assert all(x % 2 == 0 for x, _ in curve.points)
