"""What one optimizer's gradients hold: the stories that the rules ask about."""

from dataclasses import replace

import pytest

from amplint.protocol.events import Kind, Site
from amplint.protocol.ledger import UNKNOWN, Grads, Ledger, Stage
from tests.protocol.histories import after, of

PLAIN = of(Kind.BACKWARD, scaled=False)
SCALED = of(Kind.BACKWARD, scaled=True)
PERHAPS = of(Kind.BACKWARD, scaled=None)
UNSCALE, CLIP, STEP, UPDATE = of(Kind.UNSCALE), of(Kind.CLIP), of(Kind.STEP), of(Kind.UPDATE)
SCALER_STEP, ZERO, OPAQUE = of(Kind.SCALER_STEP), of(Kind.ZERO_GRAD), of(Kind.OPAQUE)


@pytest.mark.parametrize(
    ("history", "held"),
    [
        ([], Grads.NONE),
        ([PLAIN], Grads.PLAIN),
        ([SCALED], Grads.SCALED),
        ([PERHAPS], Grads.UNKNOWN),
        ([SCALED, SCALED], Grads.SCALED),
        ([PLAIN, SCALED], Grads.MIXED),
        ([SCALED, PLAIN], Grads.MIXED),
        ([SCALED, UNSCALE], Grads.PLAIN),
        ([SCALED, UNSCALE, SCALED], Grads.MIXED),
        ([PLAIN, SCALED, UNSCALE], Grads.MIXED),
        ([SCALED, SCALER_STEP], Grads.PLAIN),
        ([SCALED, STEP], Grads.SCALED),
        ([SCALED, PERHAPS], Grads.UNKNOWN),
        ([SCALED, ZERO], Grads.NONE),
        ([SCALED, OPAQUE], Grads.UNKNOWN),
        ([OPAQUE, SCALED], Grads.SCALED),
        ([OPAQUE, PLAIN], Grads.UNKNOWN),
    ],
)
def test_what_the_gradients_hold(history, held):
    assert after(*history).grads is held


@pytest.mark.parametrize(
    ("history", "stage"),
    [
        ([SCALED, UNSCALE], Stage.UNSCALED),
        ([SCALED, SCALER_STEP], Stage.STEPPED),
        ([SCALED, SCALER_STEP, UNSCALE], Stage.STEPPED),
        ([SCALED, SCALER_STEP, UPDATE], Stage.READY),
        ([SCALED, STEP], Stage.READY),
        ([SCALED, UNSCALE, ZERO], Stage.UNSCALED),
        ([OPAQUE], Stage.UNKNOWN),
        ([OPAQUE, UNSCALE], Stage.UNSCALED),
    ],
)
def test_where_the_scaler_is_with_the_optimizer(history, stage):
    assert after(*history).stage is stage


@pytest.mark.parametrize(
    ("history", "crossed"),
    [
        ([SCALED, UPDATE], True),
        ([SCALED, UNSCALE, UPDATE], True),
        ([SCALED, SCALER_STEP, UPDATE], False),
        ([SCALED, UNSCALE, SCALER_STEP, UPDATE], False),
        ([PLAIN, UPDATE], False),
        ([UPDATE], False),
        ([UNSCALE, UPDATE], False),
        ([SCALED, STEP, UPDATE], False),
        ([SCALED, UPDATE, UPDATE], True),
        ([SCALED, UPDATE, SCALED], True),
        ([SCALED, UPDATE, ZERO], False),
        ([SCALED, UPDATE, SCALER_STEP], False),
        ([SCALED, UPDATE, OPAQUE], False),
    ],
)
def test_gradients_that_an_update_has_left_behind(history, crossed):
    assert after(*history).crossed is crossed


@pytest.mark.parametrize(
    ("history", "led"),
    [
        ([CLIP], True),
        ([CLIP, PLAIN, STEP, ZERO], True),
        ([ZERO, CLIP], True),
        ([PLAIN, CLIP], False),
        ([PLAIN, STEP, ZERO, CLIP], False),
        ([OPAQUE, CLIP], False),
    ],
)
def test_a_clip_that_came_before_everything(history, led):
    assert after(*history).led_by_clip is led


def test_a_scale_by_hand_is_a_factor_until_it_is_divided_out():
    scaled = of(Kind.BACKWARD, factors=frozenset({"scale"}))
    assert after(scaled).factors == {"scale"}
    assert after(scaled, scaled).factors == {"scale"}
    assert after(scaled, of(Kind.DIVIDE, factors=frozenset({"scale"}))).factors == set()
    assert after(scaled, ZERO).factors == set()
    assert after(scaled, OPAQUE).factors == set()


def test_a_factor_that_only_some_of_the_losses_carry_is_not_one_of_the_sum():
    scaled = of(Kind.BACKWARD, factors=frozenset({"scale"}))
    assert after(scaled, PLAIN).factors == set()


def test_the_factors_of_gradients_that_were_used_are_those_of_the_next_backward():
    scaled = of(Kind.BACKWARD, factors=frozenset({"scale"}))
    assert after(PLAIN, STEP, scaled).factors == {"scale"}


def test_the_algorithm_is_that_of_the_constructor():
    assert after(of(Kind.CREATE, detail={"algorithm": "AdamW"})).algorithm == "AdamW"
    assert after(of(Kind.CREATE)).algorithm is None


def test_of_an_unknown_ledger_nothing_is_claimed():
    assert (UNKNOWN.grads, UNKNOWN.stage, UNKNOWN.fresh) == (Grads.UNKNOWN, Stage.UNKNOWN, True)
    assert not after(CLIP, start=UNKNOWN).led_by_clip
    assert after(ZERO, CLIP, start=UNKNOWN).led_by_clip
    assert Ledger().fresh


def test_a_ledger_knows_the_scaler_of_the_last_steps_and_where_it_was_made():
    place = (Site("train.py", 3),)
    steps = [replace(of(Kind.SCALER_STEP, optimizer="sgd", scaler=name), maker=place) for name in ("a", "a", "b")]
    assert [(found.scaler, found.maker, found.scaler_steps) for found in map(after, steps)] == [
        ("a", place, 1),
        ("a", place, 1),
        ("b", place, 1),
    ]
    assert after(*steps[:2]).scaler_steps == 2
    assert after(*steps).scaler_steps == 1
    assert after(*steps, of(Kind.CREATE, optimizer="sgd")).maker == ()


@pytest.mark.parametrize(
    ("history", "missed"),
    [
        ([PLAIN, of(Kind.MISSED_CLIP)], True),
        ([PLAIN, of(Kind.MISSED_CLIP), CLIP], True),
        ([PLAIN, of(Kind.MISSED_CLIP), PLAIN], False),
        ([PLAIN, of(Kind.MISSED_CLIP), STEP], False),
        ([PLAIN, of(Kind.MISSED_CLIP), ZERO], False),
        ([PLAIN, of(Kind.MISSED_CLIP), OPAQUE], False),
        ([PLAIN, CLIP], False),
    ],
)
def test_gradients_that_a_clip_has_missed(history, missed):
    assert after(*history).missed is missed


def by(**parts):
    return of(Kind.DIVIDE, **parts)


def loss(**parts):
    return of(Kind.BACKWARD, scaled=False, **parts)


@pytest.mark.parametrize(
    ("history", "scale"),
    [
        ([loss(factors=frozenset({"s"})), by(factors=frozenset({"s"}))], "s"),
        ([loss(factors=frozenset({"s"})), by(factors=frozenset({"t"}))], None),
        ([loss(weight=1024.0), by(weight=1 / 1024)], "1024"),
        ([loss(weight=1024.0), by(weight=1 / 1024), by(weight=1 / 3)], "1024"),
        ([loss(weight=1024.0), by(weight=(1 + 1e-7) / 1024)], "1024"),
        ([loss(weight=1.0), by(weight=1 / 1024)], None),
        ([loss(weight=None), by(weight=1 / 1024)], None),
        ([loss(weight=8.0), by(weight=1 / 8)], None),
        ([loss(weight=1000.0), by(weight=1 / 1000)], None),
        ([loss(factors=frozenset({"s"})), by(factors=frozenset({"s"})), PLAIN], None),
        ([loss(factors=frozenset({"s"})), by(factors=frozenset({"s"})), ZERO], None),
    ],
)
def test_a_scale_by_hand_that_is_taken_out_again(history, scale):
    assert after(*history).unscaled_by == scale
