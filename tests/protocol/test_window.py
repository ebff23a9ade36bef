"""How long a window is and with what weight each loss entered it."""

from fractions import Fraction

import pytest

from amplint.protocol.events import Gate, Kind, Site
from amplint.protocol.window import begins_micro_step, short_of_its_divisor, totals
from tests.protocol.histories import after, of

N = Fraction(1, 4)
BACK, OTHER = of(Kind.BACKWARD, 1, weight=N), of(Kind.BACKWARD, 2, weight=N)
STEP, ZERO, EPOCH = of(Kind.STEP, 3), of(Kind.ZERO_GRAD, 4), of(Kind.EPOCH_END, 5)
UNKNOWN_WEIGHT = of(Kind.BACKWARD, 1)


def branch(number, caller=6):
    """One branch of the `if` in row 9, in a function that is called in a row."""
    return frozenset({((Site("train.py", caller), Site("train.py", 9)), number)})


IF, IF_TOO = (of(Kind.BACKWARD, row, weight=N, branches=branch(0)) for row in (10, 11))
ELSE = of(Kind.BACKWARD, 13, weight=N, branches=branch(1))


def window(*history):
    return after(*history).window


def weights(*history):
    return [weight for _, weight in window(*history).weights]


def test_the_same_backward_again_is_the_next_micro_step():
    assert window(BACK, BACK, BACK).micro_steps == 3


def test_two_backwards_one_after_the_other_are_one_micro_step():
    assert window(BACK, OTHER).micro_steps == 1
    assert window(BACK, OTHER, BACK, OTHER).micro_steps == 2


def test_one_line_reached_by_two_calls_is_two_places():
    caller = Site("train.py", 9)
    assert window(BACK, of(Kind.BACKWARD, 1, stack=(caller,))).micro_steps == 1


def test_whether_a_backward_begins_a_micro_step_is_known_before_it_happens():
    def begins(event, *history):
        return begins_micro_step(window(*history), event.step_of_program, event.branches)

    assert begins(BACK)
    assert begins(BACK, BACK)
    assert not begins(OTHER, BACK)
    assert begins(ELSE, IF)


def test_losses_of_exclusive_branches_are_one_loss():
    assert window(ELSE, ELSE, IF).micro_steps == 3
    assert totals(window(ELSE, ELSE, IF)) == [3 * N]


def test_a_further_loss_of_a_branch_is_one_of_its_own():
    found = window(ELSE, ELSE, IF, IF_TOO)
    assert found.micro_steps == 3
    assert weights(ELSE, ELSE, IF, IF_TOO) == [3 * N, N]
    assert totals(found) == [3 * N]


def test_branches_of_the_same_condition_under_another_call_exclude_nothing():
    other = of(Kind.BACKWARD, 4, weight=N, branches=branch(1, caller=7))
    assert window(IF, other).micro_steps == 1


def test_weights_add_up_place_by_place():
    assert weights(BACK, BACK, OTHER) == [2 * N, N]


def test_one_weight_that_is_not_known_makes_the_sum_unknown():
    assert weights(BACK, UNKNOWN_WEIGHT) == [None]
    assert weights(UNKNOWN_WEIGHT, BACK) == [None]


def test_gradients_divided_later_weigh_less():
    assert weights(BACK, BACK, of(Kind.DIVIDE, weight=Fraction(1, 2))) == [N]
    assert weights(UNKNOWN_WEIGHT, of(Kind.DIVIDE, weight=Fraction(1, 2))) == [None]


@pytest.mark.parametrize("kind", [Kind.DIVIDE, Kind.OPAQUE])
def test_gradients_changed_by_an_unknown_factor_have_no_known_weight(kind):
    assert weights(BACK, of(kind)) == [None]


def test_a_step_ends_the_window_and_notes_its_length():
    assert window(BACK, BACK, STEP, BACK, STEP).lengths == ((2, 1),)
    assert window(BACK, STEP, EPOCH, BACK, BACK, STEP).lengths == ((1,), (2,))


def test_the_last_gate_stays_known():
    gate = Gate(Site("train.py", 8), "N")
    assert window(of(Kind.STEP, gate=gate), STEP).gate == gate


GATED = of(Kind.STEP, 3, gate=Gate(Site("train.py", 8), "N"))
SHARE = of(Kind.BACKWARD, 1, detail={"divisor": "N"})
FULL = (SHARE, SHARE, SHARE, GATED)


@pytest.mark.parametrize(
    ("history", "short"),
    [
        ((*FULL, *FULL, SHARE), True),
        ((*FULL, *FULL, SHARE, EPOCH), True),
        ((*FULL, *FULL, SHARE, of(Kind.DIVIDE, weight=Fraction(3))), False),  # brought to its own length
        ((*FULL, *FULL, SHARE, UNKNOWN_WEIGHT), False),  # not all of it was divided
        ((*FULL, SHARE), False),  # one window may hold a rest of something else
        ((SHARE, *FULL, SHARE, SHARE, SHARE), False),
        ((SHARE, *FULL, *FULL, SHARE, SHARE, SHARE), False),
        ((*FULL, *FULL, of(Kind.BACKWARD, 1, detail={"divisor": "other"})), False),
        ((*FULL, *FULL, SHARE, SHARE, SHARE), False),
    ],
)
def test_a_tail_is_short_of_the_number_that_its_losses_are_divided_by(history, short):
    assert short_of_its_divisor(window(*history)) is short


def test_what_a_loss_weighs_says_it_too():
    whole = (BACK, BACK, BACK, BACK, GATED)
    assert short_of_its_divisor(window(*whole, BACK, BACK))
    assert not short_of_its_divisor(window(*whole, of(Kind.BACKWARD, 1, weight=Fraction(1, 2))))
    assert not short_of_its_divisor(window(BACK, BACK))


def test_a_division_after_the_backward_is_late_until_the_step():
    late = of(Kind.LOSS_DIVIDED)
    assert window(BACK, late).late
    assert not window(late).late
    assert not window(BACK, late, STEP).late
    assert not window(BACK, late, ZERO).late


def test_what_is_erased_before_a_step_is_lost_until_the_step():
    assert window(BACK, BACK, ZERO).lost == 2
    assert window(BACK, ZERO, BACK, STEP).lost == 0


def test_a_tail_is_what_an_epoch_leaves():
    assert window(BACK, BACK, EPOCH).tail == 2
    assert window(BACK, EPOCH, BACK).tail == 1
    assert window(BACK, EPOCH, STEP).tail == 0


def test_a_tail_that_is_erased_is_dropped_unless_that_was_meant():
    dropped = window(BACK, EPOCH, BACK, ZERO)
    assert (dropped.dropped, dropped.lost) == (1, 1)
    meant = window(BACK, EPOCH, BACK, of(Kind.ZERO_GRAD, detail={"discards": "yes"}))
    assert (meant.dropped, meant.lost) == (0, 1)


def test_a_tail_leaks_into_a_window_that_is_longer_than_all_before():
    assert window(BACK, BACK, STEP, BACK, EPOCH, BACK, BACK, STEP).leaked
    assert not window(BACK, BACK, STEP, BACK, EPOCH, BACK, STEP).leaked
    assert window(BACK, EPOCH, STEP, BACK, STEP).leaked  # once leaked, it has leaked


def test_gradients_that_were_used_and_not_zeroed_are_stacked_upon():
    assert window(BACK, STEP, BACK, STEP, BACK).restacked == 2
    assert window(BACK, STEP, ZERO, BACK).restacked == 0
    assert window(BACK, STEP, BACK, OTHER).restacked == 1


def test_steps_since_the_last_erasure_are_counted():
    counted = window(BACK, STEP, BACK, STEP, ZERO, BACK, STEP)
    assert (counted.steps, counted.unzeroed, counted.zeros) == (3, 1, 1)


def test_places_that_average_the_weights_are_known_until_they_move():
    here, there = of(Kind.AVERAGE, 6), of(Kind.AVERAGE, 7)
    assert window(BACK, here, BACK, there).averaged == {here.step_of_program, there.step_of_program}
    assert window(BACK, here, of(Kind.DIVIDE), ZERO).averaged == {here.step_of_program}
    assert window(BACK, here, STEP).averaged == frozenset()
    assert window(BACK, here, of(Kind.OPAQUE)).averaged == frozenset()


PASS, OWN = of(Kind.PASS, 8), of(Kind.BACKWARD, 9, alone=True)


@pytest.mark.parametrize(
    ("history", "foreign", "joined"),
    [
        ([OWN], False, False),
        ([BACK, PASS], True, False),
        ([BACK, PASS, BACK], True, False),
        ([BACK, PASS, OWN], True, True),
        ([BACK, PASS, OWN, BACK], True, True),
        ([OWN, BACK, PASS], True, True),
        ([BACK, PASS, of(Kind.DIVIDE), OWN], True, True),
        ([BACK, PASS, ZERO, OWN], False, False),
        ([BACK, PASS, OWN, STEP], False, False),
        ([BACK, PASS, OWN, of(Kind.OPAQUE)], False, False),
    ],
)
def test_gradients_that_a_loss_left_on_its_way_are_known_until_they_are_used_or_erased(history, foreign, joined):
    assert (window(*history).foreign, window(*history).joined) == (foreign, joined)


def test_erasures_before_which_used_gradients_were_added_to_are_counted_in_a_row():
    back, step, zero = of(Kind.BACKWARD), of(Kind.STEP), of(Kind.ZERO_GRAD)
    stacked = (back, step, back, step, zero)
    assert after(*stacked).window.stacking == 1
    assert after(*stacked, *stacked).window.stacking == 2
    assert after(*stacked, *stacked, back, step, zero).window.stacking == 0
