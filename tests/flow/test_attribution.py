"""Whose gradients a backward fills, told from what steps after it."""

import pytest

from amplint.flow.attribution import attributed
from amplint.protocol.events import Event, Kind, Site


def at(kind, row, optimizer=None, **parts):
    return Event(kind, Site("train.py", row), optimizer, **parts)


def back(row):
    return at(Kind.BACKWARD, row)


def step(row, optimizer):
    return at(Kind.STEP, row, optimizer)


def told(*events):
    """The rows of the backwards, and of what follows them, with the optimizer that each is given."""
    return [(event.site.row, event.optimizer) for event in attributed(events) if event.kind is not Kind.STEP]


def test_where_one_optimizer_steps_everything_is_its():
    assert told(back(1), at(Kind.CLIP, 2), back(1), step(3, "sgd")) == [(1, "sgd"), (2, "sgd"), (1, "sgd")]


def test_what_names_its_optimizer_keeps_it():
    assert told(at(Kind.UNSCALE, 1, "other"), step(2, "sgd")) == [(1, "other")]


def test_an_event_that_no_backward_leads_to_is_left_alone():
    assert told(at(Kind.EPOCH_END, 1), at(Kind.ZERO_GRAD, 2), step(3, "sgd")) == [(1, None), (2, None)]


def test_each_backward_of_a_gan_belongs_to_the_step_right_after_it():
    cycle = [back(1), step(2, "d"), back(3), step(4, "g")]
    assert told(*cycle, *cycle) == [(1, "d"), (3, "g")] * 2


@pytest.mark.parametrize("kind", [Kind.CLIP, Kind.DIVIDE, Kind.UNSCALE, Kind.LOSS_DIVIDED])
def test_what_follows_a_backward_goes_with_it(kind):
    assert told(back(1), at(kind, 5), step(2, "d"), back(3), at(kind, 6), step(4, "g")) == [
        (1, "d"),
        (5, "d"),
        (3, "g"),
        (6, "g"),
    ]


def test_two_optimizers_that_step_after_one_backward_share_it():
    assert told(back(1), at(Kind.CLIP, 2), step(3, "a"), step(4, "b")) == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]


def test_an_optimizer_that_steps_twice_is_fed_once():
    assert told(back(1), step(2, "a"), step(3, "a"), step(4, "b")) == [(1, "a"), (1, "b")]


def test_backwards_one_after_the_other_go_to_the_step_after_the_last():
    events = [back(1), back(2), step(3, "d"), back(4), step(5, "g")]
    assert told(*events) == [(1, "d"), (2, "d"), (4, "g")]


def test_a_micro_step_on_which_nothing_steps_counts_for_the_boundary():
    micro = [back(1), back(2)]
    assert told(*micro, *micro, step(3, "a"), step(4, "b")) == [(row, name) for row in (1, 2, 1, 2) for name in "ab"]


def test_one_place_reached_by_two_calls_is_two_backwards():
    first, second = ((Site("train.py", row),) for row in (8, 9))
    events = [
        at(Kind.BACKWARD, 1, stack=first),
        step(2, "d"),
        at(Kind.BACKWARD, 1, stack=second),
        step(3, "g"),
    ]
    assert told(*events) == [(1, "d"), (1, "g")]


def test_a_backward_after_which_nothing_steps_is_nobodys():
    assert told(step(1, "a"), step(2, "b"), back(3), at(Kind.CLIP, 4)) == []


def test_backwards_that_follow_each_other_in_a_circle_come_to_an_end():
    assert told(step(1, "a"), step(2, "b"), back(3), back(4), back(3), back(4)) == []


def test_of_optimizers_that_are_made_anew_the_one_that_steps_next_is_fed():
    fold = [[at(Kind.CREATE, 1, name), back(2), back(2), step(3, name)] for name in ("first", "second")]
    assert told(*fold[0], *fold[1]) == [
        (row, name) for name in ("first", "second") for row, name in ((1, name), (2, name), (2, name))
    ]


def test_what_steps_with_the_next_one_is_fed_with_it():
    cycle = [back(1), back(1), step(2, "a"), step(3, "b")]
    assert told(*cycle, *cycle) == [(1, "a"), (1, "b")] * 4


def test_optimizers_that_take_turns_on_one_backward_are_fed_in_turn():
    turns = [back(1), step(2, "a"), back(1), step(3, "b")]
    assert told(*turns, *turns) == [(1, "a"), (1, "b")] * 2


def test_after_the_last_step_of_all_the_one_that_stepped_last_is_fed():
    assert told(back(1), step(2, "a"), back(1), step(3, "b"), back(1))[-1] == (1, "b")


def test_a_clip_for_an_optimizer_that_never_steps_is_nobodys():
    assert told(at(Kind.CLIP, 1, "old"), back(2), step(3, "new")) == [(2, "new")]
    assert told(at(Kind.CLIP, 1, "old"), back(2)) == [(1, "old"), (2, "old")]  # nobody steps: there is only that one


def test_a_clip_misses_what_the_last_backward_feeds_if_it_is_for_another_optimizer():
    phase = [back(1), at(Kind.CLIP, 2, "g"), at(Kind.MISSED_CLIP, 2, "d"), step(3, "d"), back(4), step(5, "g")]
    assert (2, "d") in told(*phase, *phase)


def test_a_clip_that_one_of_the_fed_is_given_misses_nobody():
    assert told(back(1), at(Kind.CLIP, 2, "g"), at(Kind.MISSED_CLIP, 2, "d"), step(3, "d"), step(4, "g")) == [
        (1, "d"),
        (1, "g"),
        (2, "g"),
    ]


def test_a_clip_misses_nobody_before_a_backward_or_where_one_optimizer_steps():
    assert (2, "d") not in told(at(Kind.MISSED_CLIP, 2, "d"), back(1), step(3, "d"), back(4), step(5, "g"))
    assert told(back(1), at(Kind.MISSED_CLIP, 2, "d"), step(3, "d")) == [(1, "d")]


def test_what_is_clipped_is_not_known_where_no_backward_is_seen():
    assert told(at(Kind.ZERO_GRAD, 1, "sgd"), at(Kind.CLIP, 2), at(Kind.NORM, 3), step(4, "sgd")) == [(1, "sgd")]


def test_a_clip_is_for_the_optimizers_that_the_scaler_knows():
    scaled, clip, plain = at(Kind.SCALER_STEP, 3, "body"), at(Kind.CLIP, 2), step(4, "head")
    assert told(back(1), clip, scaled, plain)[:3] == [(1, "body"), (1, "head"), (2, "body")]
    assert told(back(1), clip, step(3, "body"), plain)[2:] == [(2, "body"), (2, "head")]
