"""How often a scheduler steps, compared with its optimizer and the micro-steps."""

from hypothesis import given, settings
from hypothesis import strategies as st

from amplint.protocol.cadence import Cadence, advance_cadence
from amplint.protocol.events import STEPS, Kind, Site
from tests.protocol.histories import events, histories, of

BACK, STEP, SCHEDULE = of(Kind.BACKWARD), of(Kind.STEP, 2), of(Kind.SCHEDULER_STEP, 3)
EPOCH = of(Kind.EPOCH_END, 4)
some = settings(max_examples=50, deadline=None, database=None)


def after(*history):
    cadence = Cadence()
    for event in history:
        cadence = advance_cadence(cadence, event)
    return cadence


def test_a_schedule_per_update_is_never_idle():
    cadence = after(*[BACK, BACK, STEP, SCHEDULE] * 3)
    assert (cadence.cadence_steps, cadence.updates, cadence.idle, cadence.lead) == (3, 3, 0, 0)


def test_backwards_since_the_last_step_without_an_update_are_idle():
    assert after(BACK, STEP, SCHEDULE, BACK, BACK).idle == 2
    assert after(BACK, STEP, SCHEDULE, BACK, BACK, STEP).idle == 0
    assert after(BACK, STEP, BACK).idle == 0


def test_steps_before_the_first_update_lead():
    assert after(SCHEDULE, SCHEDULE, BACK, STEP, SCHEDULE).lead == 2


def test_a_step_between_backward_and_update_is_pending_until_one_of_them():
    assert after(BACK, SCHEDULE).pending
    assert not after(SCHEDULE).pending
    assert not after(BACK, SCHEDULE, STEP).pending
    assert not after(BACK, SCHEDULE, BACK).pending


def test_the_first_step_is_remembered_with_the_calls_that_led_there():
    caller = Site("train.py", 9)
    first = of(Kind.SCHEDULER_STEP, 3, stack=(caller,))
    assert after(first, of(Kind.SCHEDULER_STEP, 4)).first == (caller, Site("train.py", 3))


def test_code_that_was_not_followed_may_have_stepped():
    cadence = after(BACK, SCHEDULE, BACK, BACK, of(Kind.OPAQUE))
    assert (cadence.idle, cadence.stepped_since, cadence.pending, cadence.filling) == (0, True, False, False)


def test_the_unit_of_the_horizon_is_told_by_the_constructor():
    assert after(of(Kind.CREATE, detail={"unit": "updates"})).unit == "updates"
    assert after(of(Kind.CREATE)).unit is None


def test_the_class_and_what_it_is_meant_for_are_told_by_the_constructor():
    made = after(of(Kind.CREATE, detail={"schedule": "StepLR", "meant": "epochs", "unit": "epochs", "exact": "yes"}))
    assert (made.schedule, made.meant, made.unit, made.exact) == ("StepLR", "epochs", "epochs", True)
    assert not after(of(Kind.CREATE)).exact


def test_the_pace_is_what_passes_once_between_any_two_steps():
    assert after(BACK, STEP, SCHEDULE).pace is None
    assert after(*[BACK, STEP, SCHEDULE] * 3).pace == {"micro-batches", "updates"}
    assert after(*[BACK, BACK, STEP, SCHEDULE] * 3).pace == {"updates"}
    assert after(*[BACK, STEP, BACK, STEP, EPOCH, SCHEDULE] * 3).pace == {"epochs"}
    assert after(*[BACK, BACK, STEP, SCHEDULE] * 2, SCHEDULE).pace == frozenset()


def test_a_step_that_is_told_something_keeps_the_pace_too():
    told = after(*[BACK, STEP, of(Kind.SCHEDULER_TOLD)] * 3)
    assert (told.told, told.cadence_steps, told.pace) == (3, 0, {"micro-batches", "updates"})


def test_a_metric_says_what_a_schedule_counts_if_nobody_saw_it_made():
    metric = of(Kind.SCHEDULER_TOLD, detail={"meant": "epochs"})
    made = of(Kind.CREATE, detail={"schedule": "ReduceLROnPlateau"})
    assert after(BACK, STEP, metric).meant == "epochs"
    assert after(made, BACK, STEP, metric).meant is None


def test_what_passed_unseen_says_nothing_of_the_pace():
    unseen = [BACK, of(Kind.OPAQUE), STEP, EPOCH, SCHEDULE]
    assert after(*unseen * 3).pace is None
    assert after(*[BACK, STEP, SCHEDULE] * 2, *unseen).pace == {"micro-batches", "updates"}


@some
@given(histories)
def test_the_counts_are_those_of_the_history(history):
    cadence = after(*history)
    kinds = [event.kind for event in history]
    assert cadence.cadence_steps == kinds.count(Kind.SCHEDULER_STEP)
    assert cadence.updates == sum(kind in STEPS for kind in kinds)
    assert cadence.told == kinds.count(Kind.SCHEDULER_TOLD)
    made = max((at + 1 for at, kind in enumerate(kinds) if kind is Kind.CREATE), default=0)
    since = kinds[made:]
    updates = sum(kind in STEPS for kind in since)
    assert cadence.passed == (since.count(Kind.BACKWARD), updates, since.count(Kind.EPOCH_END))
    assert 0 <= cadence.lead <= cadence.cadence_steps
    assert 0 <= cadence.idle <= kinds.count(Kind.BACKWARD)
    assert cadence.filling or not cadence.pending
    assert not (cadence.stepped_since and cadence.idle)
    assert bool(cadence.first) == bool(cadence.cadence_steps)


@some
@given(histories, events(kind=st.sampled_from([Kind.ZERO_GRAD, Kind.CLIP, Kind.UPDATE, Kind.END])))
def test_what_concerns_neither_scheduler_nor_step_changes_nothing(history, event):
    assert after(*history, event) == after(*history)
