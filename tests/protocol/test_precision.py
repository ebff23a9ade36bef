"""Under which precision the gradients of an optimizer came about."""

import pytest

from amplint.protocol.events import Kind
from amplint.protocol.precision import Precision, together
from tests.protocol.histories import after, of

OFF, HALF, BRAIN = Precision.OFF, Precision.FLOAT16, Precision.BFLOAT16


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        (HALF, HALF, HALF),
        (OFF, OFF, OFF),
        (HALF, BRAIN, Precision.LOWERED),
        (HALF, OFF, Precision.UNKNOWN),
        (Precision.UNKNOWN, HALF, Precision.UNKNOWN),
    ],
)
def test_two_things_have_the_precision_that_both_have(first, second, both):
    assert together(first, second) is both


def back(forward):
    return of(Kind.BACKWARD, forward=forward)


def test_gradients_have_the_precision_of_their_forward():
    assert after().forward is Precision.UNKNOWN
    assert after(back(HALF)).forward is HALF
    assert after(back(HALF), back(HALF), of(Kind.DIVIDE)).forward is HALF
    assert after(back(HALF), back(OFF)).forward is Precision.UNKNOWN


def test_gradients_that_are_erased_or_used_say_nothing_of_those_that_come():
    assert after(back(HALF), of(Kind.ZERO_GRAD)).forward is Precision.UNKNOWN
    assert after(back(HALF), of(Kind.ZERO_GRAD), back(OFF)).forward is OFF
    assert after(back(HALF), of(Kind.STEP), back(OFF)).forward is OFF
    assert after(back(HALF), of(Kind.OPAQUE)).forward is Precision.UNKNOWN
