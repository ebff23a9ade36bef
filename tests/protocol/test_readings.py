"""Numbers that were measured: what is known of them, and what is not."""

import pytest

from amplint.protocol.readings import TermReading, WindowReading, known, total


def term(weights=(0.5, 0.5), factors=(0.5, 0.5), counts=(10.0, 30.0)):
    return TermReading("loss", weights, factors, counts, (4, 4))


def test_values_are_known_when_all_of_them_are():
    assert known([1.0, 2.0]) == (1.0, 2.0)
    assert known([1.0, None]) is None
    assert known([]) is None
    assert total([0.25, 0.75]) == 1.0
    assert total([0.25, None]) is None


def test_the_weights_of_a_window_add_up():
    assert term().weight_sum == 1.0
    assert term(factors=(1.0, 1.0)).factor_sum == 2.0
    assert term(weights=(None, 0.5)).weight_sum is None


def test_an_element_of_a_small_micro_batch_weighs_more_in_a_mean_of_means():
    assert term().element_weights == pytest.approx((2.0, 2 / 3))
    assert term().spread == pytest.approx(3.0)


def test_in_a_mean_over_all_every_element_weighs_one():
    right = term(weights=(0.25, 0.75))
    assert right.element_weights == pytest.approx((1.0, 1.0))
    assert right.spread == pytest.approx(1.0)


@pytest.mark.parametrize("unknown", [{"counts": (None, 3.0)}, {"weights": (None, 0.5)}, {"counts": (0.0, 3.0)}])
def test_what_is_not_known_has_no_element_weights(unknown):
    assert term(**unknown).element_weights == ()
    assert term(**unknown).spread is None


def test_weights_that_are_not_positive_have_no_spread():
    assert term(weights=(-0.5, 0.5)).spread is None


def test_the_heaviest_criterion_of_a_window_is_its_main_one():
    assert WindowReading(2, (term(), term(weights=(0.1, 0.1)))).main == term()
    assert WindowReading(2).main is None
