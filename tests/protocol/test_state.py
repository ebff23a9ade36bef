"""A whole run: who is registered, who is shown a moment, and that everybody is advanced."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplint.protocol.cadence import Cadence
from amplint.protocol.events import Kind
from amplint.protocol.ledger import UNKNOWN, Grads, Ledger
from amplint.protocol.state import OF_NOBODY, State
from tests.protocol.histories import after, events, of

SHOWN_NOWHERE = {*OF_NOBODY, Kind.SCALER_CREATED}
some = settings(max_examples=50, deadline=None, database=None)
_names = {
    name: st.none() | st.sampled_from([f"{name}#1", f"{name}#2"]) for name in ("optimizer", "scaler", "scheduler")
}
runs = st.lists(events(**_names), max_size=20)


def fed(*history, **settings_of_state):
    """The state after a history, and all of its moments."""
    state = State(**settings_of_state)
    state.expect(history)
    return state, [moment for event in history for moment in state.moments(event)]


def named(moments):
    return [(moment.event.kind, moment.of_scheduler) for moment in moments]


def test_a_moment_shows_what_was_true_before_its_event():
    back = of(Kind.BACKWARD, optimizer="sgd")
    state, (first, second) = fed(back, back)
    assert first.ledger == Ledger()
    assert second.ledger == after(back)
    assert state.ledgers == {"sgd": after(back, back)}


def test_the_latest_events_before_a_moment_are_at_hand():
    back, clip = of(Kind.BACKWARD, 1, optimizer="sgd"), of(Kind.CLIP, 2, optimizer="sgd")
    _, (first, second, third) = fed(back, clip, of(Kind.CLIP, 3, optimizer="sgd"))
    assert first.last == {}
    assert second.last == {Kind.BACKWARD: back}
    assert third.last == {Kind.BACKWARD: back, Kind.CLIP: clip}


def test_a_step_through_the_scaler_is_the_latest_step_too():
    step = of(Kind.SCALER_STEP, optimizer="sgd", scaler="scaler")
    _, moments = fed(step, of(Kind.CLIP, optimizer="sgd"))
    assert moments[-1].last == {Kind.SCALER_STEP: step, Kind.STEP: step}


def test_an_event_of_one_optimizer_does_not_touch_another():
    backward = [of(Kind.BACKWARD, optimizer=name) for name in ("a", "b")]
    state, _ = fed(*backward, of(Kind.ZERO_GRAD, optimizer="b"))
    assert state.ledgers["a"].grads is Grads.PLAIN
    assert state.ledgers["b"].window.zeros == 1


def test_an_event_that_names_nobody_concerns_every_optimizer():
    state, moments = fed(of(Kind.BACKWARD, optimizer="a"), of(Kind.BACKWARD, optimizer="b"), of(Kind.ZERO_GRAD))
    assert len(moments) == 4
    assert {ledger.grads for ledger in state.ledgers.values()} == {Grads.NONE}


def test_an_update_concerns_the_optimizers_of_its_scaler_and_those_of_none():
    state, moments = fed(
        of(Kind.SCALER_STEP, optimizer="a", scaler="x"),
        of(Kind.SCALER_STEP, optimizer="b", scaler="y"),
        of(Kind.STEP, optimizer="c"),
        of(Kind.UPDATE, scaler="x"),
    )
    assert len(moments) == 5
    assert Kind.UPDATE in state.last["a"]
    assert Kind.UPDATE not in state.last["b"]
    assert Kind.UPDATE in state.last["c"]


def test_a_discarded_scaled_loss_is_nobodys():
    state, (moment,) = fed(of(Kind.DISCARD, scaler="x"))
    assert (moment.ledger, moment.cadence, moment.last, moment.of_scheduler) == (Ledger(), Cadence(), {}, False)
    assert not state.ledgers


def test_a_scheduler_sees_the_events_of_its_optimizer():
    made = of(Kind.CREATE, optimizer="a", scheduler="cosine", detail={"unit": "updates"})
    state, moments = fed(
        made, of(Kind.BACKWARD, optimizer="a"), of(Kind.STEP, optimizer="a"), of(Kind.STEP, optimizer="b")
    )
    assert state.cadences["cosine"].updates == 1
    assert state.cadences["cosine"].unit == "updates"
    assert named(moments) == [
        (Kind.CREATE, True),
        (Kind.BACKWARD, False),
        (Kind.BACKWARD, True),
        (Kind.STEP, False),
        (Kind.STEP, True),
        (Kind.STEP, False),
    ]
    assert "a" in state.ledgers


def test_a_scheduler_of_an_unknown_optimizer_sees_them_all():
    state, _ = fed(of(Kind.SCHEDULER_STEP, scheduler="s"), of(Kind.STEP, optimizer="a"), of(Kind.STEP, optimizer="b"))
    assert state.cadences["s"].updates == 2


def test_a_scheduler_that_steps_late_has_seen_what_came_before():
    state, _ = fed(of(Kind.STEP, optimizer="a"), of(Kind.SCHEDULER_STEP, optimizer="a", scheduler="s"))
    assert (state.cadences["s"].updates, state.cadences["s"].lead) == (1, 0)


def test_a_scheduler_that_nobody_expects_begins_when_it_first_steps():
    state = State()
    history = [of(Kind.STEP, optimizer="a"), of(Kind.SCHEDULER_STEP, optimizer="a", scheduler="s")]
    assert [moment.of_scheduler for event in history for moment in state.moments(event)] == [False, True]
    assert state.cadences["s"].lead == 1


def test_a_step_of_a_scheduler_does_not_make_its_optimizer_known():
    state, _ = fed(of(Kind.SCHEDULER_STEP, optimizer="a", scheduler="s"))
    assert not state.ledgers


@pytest.mark.parametrize("kind", [Kind.EPOCH_END, Kind.END])
def test_an_end_is_everybodys(kind):
    _, moments = fed(of(Kind.STEP, optimizer="a"), of(Kind.SCHEDULER_STEP, optimizer="b", scheduler="s"), of(kind))
    assert named(moments)[-2:] == [(kind, False), (kind, True)]


def test_what_came_before_the_first_event_may_be_unknown():
    state, moments = fed(of(Kind.CLIP, optimizer="a"), unknown_start=True)
    assert moments[0].ledger == UNKNOWN
    assert state.ledgers["a"].grads is Grads.UNKNOWN


@some
@given(runs)
def test_every_name_of_a_run_is_registered_and_advanced_by_its_own_events(history):
    state, moments = fed(*history)
    schedulers = {event.scheduler for event in history if event.scheduler is not None}
    assert set(state.cadences) == schedulers
    for name in state.ledgers:
        own = [event for event in history if event.optimizer == name and event.scheduler is None]
        shown = [moment.event for moment in moments if not moment.of_scheduler and moment.event.optimizer == name]
        met = [event for event in own if event.kind not in SHOWN_NOWHERE]
        assert [event for event in shown if event.kind not in SHOWN_NOWHERE] == met
        assert not met or state.last[name]
    assert set(state.last) == {*state.ledgers, *state.cadences}


@some
@given(runs)
def test_the_same_history_gives_the_same_moments(history):
    assert fed(*history) == fed(*history)


def test_where_a_scaler_was_made_is_at_hand_once_it_serves_an_optimizer():
    made = of(Kind.SCALER_CREATED, 1, scaler="scaler")
    step = of(Kind.SCALER_STEP, 2, optimizer="sgd", scaler="scaler")
    _, (first, second) = fed(made, step, of(Kind.END))
    assert first.last == {Kind.SCALER_CREATED: made}
    assert second.last[Kind.SCALER_CREATED] is made


def test_the_step_whose_gradients_are_added_to_is_the_first_since_the_last_erasure():
    back, zero = of(Kind.BACKWARD, 1, optimizer="sgd"), of(Kind.ZERO_GRAD, 9, optimizer="sgd")
    first, second = (of(Kind.STEP, row, optimizer="sgd") for row in (2, 3))
    _, moments = fed(back, first, back, second, back, zero, back)
    named = [moment.last.get(Kind.REUSED) for moment in moments]
    assert named == [None, None, None, first, first, first, None]


def test_a_step_that_meets_no_gradients_uses_none():
    step, back = of(Kind.STEP, optimizer="sgd"), of(Kind.BACKWARD, optimizer="sgd")
    assert not after(step, back).used
    assert after(back, step).used


def test_what_becomes_known_of_a_past_event_takes_its_place_in_later_moments_alone():
    step, back = of(Kind.STEP, 1, optimizer="sgd"), of(Kind.BACKWARD, 2, optimizer="sgd")
    elsewhere = of(Kind.STEP, 3, optimizer="adam")
    state, _ = fed(step, elsewhere)
    (before,) = state.moments(back)
    amended = replace(step, detail={"skipped": "yes"})
    state.amend(step, amended)
    (later,) = state.moments(back)
    assert before.last[Kind.STEP] is step
    assert later.last[Kind.STEP] is amended
    assert state.last["adam"] == {Kind.STEP: elsewhere}


def test_a_scheduler_whose_optimizer_has_another_that_steps_was_told_something():
    made = [of(Kind.CREATE, optimizer="sgd", scheduler=name) for name in ("idle", "stepped")]
    other = of(Kind.CREATE, optimizer="adam", scheduler="alone")
    state, _ = fed(*made, other, of(Kind.SCHEDULER_STEP, optimizer="sgd", scheduler="stepped"))
    state.relieve()
    assert {name: cadence.told for name, cadence in state.cadences.items()} == {"idle": 1, "stepped": 1, "alone": 0}


def test_kinds_of_which_nobody_asks_advance_a_scheduler_unseen():
    made = of(Kind.CREATE, optimizer="sgd", scheduler="cosine")
    state, moments = fed(made, of(Kind.BACKWARD, optimizer="sgd"), unasked={Kind.BACKWARD})
    assert (Kind.BACKWARD, True) not in named(moments)
    assert state.cadences["cosine"].passed[0] == 1
