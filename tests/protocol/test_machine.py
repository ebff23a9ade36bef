"""What holds of the machine for every event in every state, and for every history."""

import copy

from hypothesis import example, given, settings
from hypothesis import strategies as st

from amplint.protocol.events import STEPS, Kind
from amplint.protocol.ledger import TABLES, Feed, Grads, Ledger, Stage, advance, feed_of
from tests.protocol.histories import after, events, histories, ledgers, of

PARTS = {"grads": set(Grads), "stage": set(Stage), "clipped": {True, False}, "used": {True, False}}
PARTS |= {"missed": {True, False}, "divided": {True, False}, "fresh": {True, False}}
IDLE = {Kind.CREATE, Kind.SCALE, Kind.DISCARD, Kind.SCHEDULER_STEP, Kind.END, Kind.SCALER_CREATED}
many = settings(max_examples=100, deadline=None, database=None)
some = settings(max_examples=50, deadline=None, database=None)


def reached(kinds):
    """A ledger after some history, an event of one of the kinds, and what is true after it."""
    return st.tuples(
        histories.map(lambda history: after(*history)), events(kind=st.sampled_from(sorted(kinds, key=str)))
    )


def test_the_tables_mention_only_parts_of_the_ledger_and_values_that_exist():
    assert set(TABLES) == set(PARTS)
    for part, table in TABLES.items():
        assert set(table) <= set(Feed)
        for row in table.values():
            assert {*row, *row.values()} <= PARTS[part]


def test_every_row_of_the_tables_can_be_selected_by_an_event():
    selected = {feed_of(event) for event in _one_of_each()}
    assert selected == {*Feed, None}


def _one_of_each():
    return [*(of(kind) for kind in Kind), of(Kind.BACKWARD, scaled=True), of(Kind.BACKWARD, scaled=None)]


@many
@given(ledgers, events())
def test_any_event_in_any_state_gives_one_answer_and_changes_nothing_that_was(ledger, event):
    before, met = copy.deepcopy(ledger), copy.deepcopy(event)
    first = advance(ledger, event)
    assert isinstance(first, Ledger)
    assert first == advance(ledger, event)
    assert (ledger, event) == (before, met)


@many
@given(ledgers, events())
def test_every_part_keeps_to_its_values(ledger, event):
    later = advance(ledger, event)
    assert all(getattr(later, part) in values for part, values in PARTS.items())
    assert len(later.window.lengths) >= len(ledger.window.lengths)


@some
@given(ledgers, events(kind=st.sampled_from(sorted(IDLE, key=str))))
def test_what_is_no_matter_of_gradients_leaves_them_alone(ledger, event):
    later = advance(ledger, event)
    assert later.window == ledger.window
    assert all(getattr(later, part) == getattr(ledger, part) for part in (*PARTS, "crossed", "factors"))


@some
@given(ledgers, events(kind=st.just(Kind.ZERO_GRAD)))
def test_after_zeroing_nothing_is_left_of_the_gradients(ledger, event):
    later = advance(ledger, event)
    assert later.grads is Grads.NONE
    assert (later.clipped, later.used, later.crossed, later.factors) == (False, False, False, frozenset())
    window = later.window
    assert (window.micro_steps, window.weights, window.here, window.tail) == (0, (), frozenset(), 0)


@some
@given(ledgers, events(kind=st.sampled_from([Kind.STEP, Kind.SCALER_STEP])))
def test_a_step_uses_up_the_window_and_the_clip(ledger, event):
    later = advance(ledger, event)
    assert (later.clipped, later.used, later.crossed) == (False, ledger.grads is not Grads.NONE, False)
    assert (later.window.micro_steps, later.window.weights, later.window.lost, later.window.tail) == (0, (), 0, 0)


@some
@given(ledgers, events(kind=st.just(Kind.SCALER_STEP)))
def test_a_step_through_the_scaler_leaves_true_gradients_and_says_so(ledger, event):
    later = advance(ledger, event)
    assert later.stage is Stage.STEPPED
    assert later.grads is not Grads.SCALED


@some
@given(ledgers, events(kind=st.just(Kind.UPDATE)))
def test_an_update_makes_the_scaler_ready_and_leaves_the_gradients(ledger, event):
    later = advance(ledger, event)
    assert later.stage is Stage.READY
    assert (later.grads, later.used, later.window) == (ledger.grads, ledger.used, ledger.window)


@some
@given(ledgers, events(kind=st.just(Kind.OPAQUE)))
def test_after_code_that_was_not_followed_nothing_is_claimed(ledger, event):
    later = advance(ledger, event)
    assert (later.grads, later.stage) == (Grads.UNKNOWN, Stage.UNKNOWN)
    assert not any((later.clipped, later.used, later.crossed, later.factors))
    assert later.fresh is ledger.fresh
    assert all(weight is None for _, weight in later.window.weights)


@some
@given(reached([Kind.BACKWARD]))
def test_a_backward_leaves_gradients_that_nobody_has_clipped(pair):
    ledger, event = pair
    later = advance(ledger, event)
    assert later.grads is not Grads.NONE
    assert not later.clipped
    assert not later.fresh


@many
@given(histories)
@example([of(Kind.BACKWARD), of(Kind.ZERO_GRAD), of(Kind.STEP)])
def test_every_micro_step_is_stepped_or_erased_or_waits(history):
    ledger, begun, erased = Ledger(), 0, 0
    for event in history:
        later = advance(ledger, event)
        if event.kind is Kind.BACKWARD:
            begun += later.window.micro_steps - ledger.window.micro_steps
        if event.kind is Kind.ZERO_GRAD:
            erased += ledger.window.micro_steps - (later.window.lost - ledger.window.lost)
        ledger = later
    window = ledger.window  # what it has lost makes the next step's window no shorter
    assert begun == sum(map(sum, window.lengths)) + erased + window.micro_steps + window.lost


@many
@given(histories, events(kind=st.just(Kind.ZERO_GRAD)))
@example([of(Kind.BACKWARD), of(Kind.OPAQUE)], of(Kind.ZERO_GRAD))
def test_what_is_erased_is_lost_or_a_dropped_tail_or_discarded_on_purpose_or_was_perhaps_used(history, event):
    before = after(*history).window
    later = after(*history, event).window
    neither = max(before.tail, before.unseen) if "discards" in event.detail else before.unseen
    assert before.micro_steps == (later.lost - before.lost) + (later.dropped - before.dropped) + neither


@many
@given(histories)
def test_the_counts_are_those_of_the_history(history):
    window = after(*history).window
    kinds = [event.kind for event in history]
    assert window.steps == sum(map(len, window.lengths)) == sum(kind in STEPS for kind in kinds)
    begun = next((at for at, kind in enumerate(kinds) if kind is Kind.BACKWARD or kind in STEPS), len(kinds))
    assert window.zeros == kinds[begun:].count(Kind.ZERO_GRAD)
    assert len(window.lengths) == kinds.count(Kind.EPOCH_END) + 1
    assert 0 <= window.tail <= window.micro_steps
    assert window.unzeroed <= window.steps
    assert bool(window.micro_steps) == bool(window.here) == bool(window.weights)


@some
@given(histories, events())
def test_a_clip_outlives_neither_a_step_nor_an_erasure_nor_a_backward(history, event):
    clipped = after(*history, event).clipped
    assert not clipped or event.kind not in {*STEPS, Kind.ZERO_GRAD, Kind.BACKWARD, Kind.OPAQUE}


@some
@given(histories)
def test_gradients_that_a_step_has_used_were_stepped_on_since_they_were_erased(history):
    ledger = after(*history)
    assert not ledger.used or ledger.window.unzeroed > 0


@some
@given(histories)
def test_a_ledger_that_met_no_backward_and_no_step_is_fresh(history):
    touching = {*STEPS, Kind.BACKWARD}
    assert after(*history).fresh is not any(event.kind in touching for event in history)
