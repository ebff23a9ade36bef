"""What is asked of a scheduler at the end of a run whose horizon is a mere number, as in a running process."""

import pytest

from amplint.catalogue.horizons import counted, never_stepped, steps_in
from amplint.protocol.cadence import EPOCHS, MICRO_BATCHES, UPDATES, Cadence
from amplint.protocol.events import Event, Kind, Site
from amplint.protocol.ledger import Ledger
from amplint.protocol.state import Moment

HERE = Site("train.py", 9)
PER_EPOCH = frozenset({EPOCHS})


def run(horizon, passed, pace=PER_EPOCH, steps=100):
    """A scheduler at the end of a run in which so many micro-batches, updates and epochs have passed."""
    return Cadence(cadence_steps=steps, horizon=horizon, passed=passed, pace=pace)


@pytest.mark.parametrize(("horizon", "unit"), [(400, MICRO_BATCHES), (100, UPDATES), (20, EPOCHS), (300, None)])
def test_a_horizon_counts_what_has_passed_exactly_as_often(horizon, unit):
    steps = horizon + 1 if unit else 1000
    assert counted(run(horizon, (400, 100, 20), frozenset(), steps)) == unit


def test_of_units_that_are_alike_the_one_in_which_the_scheduler_steps_is_meant():
    assert counted(run(20, (400, 20, 20), PER_EPOCH, 21)) == EPOCHS
    assert counted(run(20, (400, 20, 20), None, 21)) == UPDATES


def test_a_small_horizon_that_was_not_exceeded_may_agree_by_chance():
    assert counted(run(6, (24, 6, 2), steps=6)) is None


def created(name="scheduler", **detail):
    """The end of a run, as a scheduler sees it that has not moved once."""
    return lambda cadence: Moment(
        Event(Kind.END, HERE, detail=detail),
        Ledger(),
        cadence,
        {Kind.CREATE: Event(Kind.CREATE, HERE)},
        of_scheduler=True,
        name=name,
    )


@pytest.mark.parametrize(
    ("updates", "detail", "expected"),
    [
        (100, {}, True),
        (99, {}, False),
        (8, {"turned": "optimizer"}, True),
        (8, {}, False),
        (2, {"unread": "scheduler"}, True),
        (1, {"unread": "scheduler"}, False),
    ],
)
def test_a_scheduler_was_forgotten_when_many_updates_a_second_epoch_or_nobody_who_reads_it_show_it(
    updates, detail, expected
):
    assert never_stepped(created(**detail)(Cadence(updates=updates))) is expected


def test_one_that_has_moved_or_is_constant_was_not_forgotten():
    assert not never_stepped(created()(Cadence(updates=100, cadence_steps=1)))
    assert not never_stepped(created()(Cadence(updates=100, schedule="LambdaLR")))


def test_a_pace_of_epochs_is_that_of_epochs():
    assert steps_in(run(20, (400, 100, 20))) == EPOCHS
