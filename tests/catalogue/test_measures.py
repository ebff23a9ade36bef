"""What is asked of the numbers of a measured window."""

import pytest

from amplint.catalogue.measures import wrong_divisor
from amplint.protocol.cadence import Cadence
from amplint.protocol.events import Event, Kind, Site
from amplint.protocol.ledger import Ledger
from amplint.protocol.readings import TermReading, WindowReading
from amplint.protocol.state import Moment
from amplint.protocol.window import Window

WHOLE = Window()


def of_four(weight, accumulation_steps=4, window=WHOLE):
    """A step after four micro-batches of unlike sizes with this weight each, where the user has named the length."""
    term = TermReading("loss", (weight,) * 4, (weight,) * 4, (3.0, 5.0, 7.0, 9.0), (3, 5, 7, 9))
    reading = WindowReading(4, (term,), accumulation_steps=accumulation_steps)
    event = Event(Kind.STEP, Site("train.py", 9), reading=reading)
    return wrong_divisor(Moment(event, Ledger(window=window), Cadence(), {}))


def test_a_sum_of_weights_that_the_named_length_does_not_give_is_told_with_the_divisor():
    assert of_four(1 / 6) == {"n": "4", "what": "6", "sum": "0.667"}


@pytest.mark.parametrize("weight", [1 / 4, 1.0])
def test_the_right_division_and_none_at_all_are_not_a_wrong_divisor(weight):
    assert of_four(weight) is None


def test_a_window_of_another_length_than_the_named_one_is_not_judged_by_it():
    assert of_four(1 / 6, accumulation_steps=6) is None


def test_a_window_of_which_a_part_was_erased_is_not_judged_by_its_sum():
    assert of_four(1 / 6, window=Window(lost=1)) is None
