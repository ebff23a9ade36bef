"""What a remedy is shown of the events around a moment."""

from __future__ import annotations

from amplint.protocol.events import Kind, Site
from amplint.protocol.scene import Scene, scene_of
from amplint.protocol.state import State
from tests.protocol.histories import of


def scene_at(history, at, **wanted):
    """The scene around one event of a history, as its optimizer or scheduler sees it."""
    state = State()
    state.expect(history)
    moments = [(event, moment) for event in history for moment in state.moments(event)]
    (moment,) = (
        moment
        for event, moment in moments
        if event is history[at] and all(getattr(moment, name) == value for name, value in wanted.items())
    )
    return scene_of(moment, history, at, [("window", "4")])


def test_events_are_told_from_the_moment_outwards_and_of_two_as_near_the_later():
    back, clip, step, zero = (
        of(kind, row, optimizer="sgd")
        for row, kind in enumerate((Kind.BACKWARD, Kind.CLIP, Kind.STEP, Kind.ZERO_GRAD), 1)
    )
    assert scene_at([back, clip, step, zero], 1).events == (clip, back, step, zero)


def test_a_place_is_told_once_for_each_kind_of_event():
    back, step = of(Kind.BACKWARD, 1, optimizer="sgd"), of(Kind.STEP, 2, optimizer="sgd")
    again = of(Kind.BACKWARD, 1, optimizer="sgd")
    assert scene_at([back, again, step], 2).events == (step, again)


def test_events_of_another_optimizer_are_left_out():
    mine, other = (of(Kind.STEP, row, optimizer=name) for row, name in ((1, "sgd"), (2, "adam")))
    assert scene_at([mine, other], 0).events == (mine,)


def test_events_of_another_scheduler_are_left_out():
    made = [of(Kind.CREATE, row, optimizer="sgd", scheduler=name) for row, name in ((1, "cosine"), (2, "plateau"))]
    turned = [
        of(Kind.SCHEDULER_STEP, row, optimizer="sgd", scheduler=name) for row, name in ((3, "cosine"), (4, "plateau"))
    ]
    scene = scene_at([*made, *turned], 2, of_scheduler=True, name="cosine")
    assert scene.events == (turned[0], made[0])


def test_the_words_of_the_message_are_kept():
    assert scene_at([of(Kind.STEP, optimizer="sgd")], 0).words == (("window", "4"),)


def test_the_event_at_a_given_place_goes_before_the_nearest_of_its_kind():
    here, there = of(Kind.CLIP, 1), of(Kind.CLIP, 2)
    scene = Scene((here, there))
    assert scene.nearest(Kind.CLIP, "train.py") is here
    assert scene.nearest(Kind.CLIP, "train.py", Site("train.py", 2)) is there
    assert scene.nearest(Kind.CLIP, "other.py") is None
    assert scene.nearest(Kind.STEP, "train.py") is None
