"""What a scaler has recorded of overflows since its last update."""

import pytest

from amplint.protocol.checks import NO_RECORDS, Checks, Records, advance_records
from amplint.protocol.events import Gate, Kind
from tests.protocol.histories import SITES, of
from tests.protocol.test_state import fed

UNSCALE, STEP, UPDATE, OPAQUE = (of(kind) for kind in (Kind.UNSCALE, Kind.SCALER_STEP, Kind.UPDATE, Kind.OPAQUE))


@pytest.mark.parametrize(
    ("history", "checks"),
    [
        ([], Checks.UNKNOWN),
        ([UPDATE], Checks.NONE),
        ([STEP], Checks.RECORDED),
        ([UNSCALE], Checks.RECORDED),
        ([STEP, UPDATE], Checks.NONE),
        ([STEP, UPDATE, UNSCALE], Checks.RECORDED),
        ([STEP, UPDATE, OPAQUE], Checks.UNKNOWN),
    ],
)
def test_what_an_update_will_find(history, checks):
    records = NO_RECORDS
    for event in history:
        records = advance_records(records, event)
    assert records.checks is checks


@pytest.mark.parametrize(("length", "known"), [("n", {"n"}), ("4", set()), (None, set())])
def test_windows_of_which_the_length_is_a_name_are_remembered(length, known):
    gated = of(Kind.SCALER_STEP, gate=Gate(SITES[0], length))
    assert advance_records(NO_RECORDS, gated) == Records(Checks.RECORDED, frozenset(known))


def test_a_step_of_one_optimizer_is_recorded_for_the_update_of_all():
    history = [of(Kind.SCALER_STEP, optimizer="first", scaler="amp"), of(Kind.UPDATE, scaler="amp")]
    state, moments = fed(*history, of(Kind.UPDATE, scaler="other"), of(Kind.UPDATE))
    assert [moment.records.checks for moment in moments][:2] == [Checks.UNKNOWN, Checks.RECORDED]
    assert state.records == {"amp": Records(Checks.NONE), "other": Records(Checks.NONE)}


def test_code_that_is_not_followed_may_have_stepped_through_any_scaler():
    state, _ = fed(of(Kind.SCALER_STEP, optimizer="first", scaler="amp"), of(Kind.UPDATE, scaler="amp"), OPAQUE)
    assert state.records == {"amp": Records(Checks.UNKNOWN)}
