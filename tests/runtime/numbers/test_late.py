"""Numbers keep their order, wherever they are, and a curve stays small."""

import torch

from runtime_guard.figures import POINTS, Curve, Figure
from runtime_guard.late import Parcel, number


def test_a_number_of_the_cpu_is_read_at_once():
    assert number(torch.tensor(2.5)) == 2.5


def test_a_parcel_keeps_the_order_of_what_it_was_given():
    parcel = Parcel([1.0, torch.tensor(2.0), 3.0, torch.tensor([4.0])])
    assert parcel.values() == [1.0, 2.0, 3.0, 4.0]
    assert parcel.arrived


def test_a_curve_gets_coarser_and_keeps_its_range():
    curve = Curve()
    for x in range(10 * POINTS):
        curve.add(x, float(x))
    assert len(curve.points) <= POINTS
    assert curve.points[0] == (0, 0.0)
    assert curve.points[-1][0] > 9 * POINTS


def test_a_figure_leaves_out_what_is_no_number():
    figure = Figure()
    for value in (2.0, None, float("nan"), 1.0):
        figure.add(value)
    assert figure.as_json() == {"last": 1.0, "min": 1.0, "max": 2.0, "count": 2}
