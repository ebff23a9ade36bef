"""What rules ask of a moment, where no example comes to the rarer answers."""

from __future__ import annotations

from types import SimpleNamespace

from amplint.catalogue.amounts import after_a_short_first
from amplint.protocol.events import Event, Gate, Kind, Site
from amplint.protocol.window import Window

HERE, THERE = Site("train.py", 9), Site("train.py", 12)


def short_first(restarts, before=HERE, dropped=0):
    """A moment at the second step of an epoch whose first window had one micro-step."""
    event = Event(Kind.STEP, HERE, gate=Gate(HERE, restarts=restarts))
    ledger = SimpleNamespace(window=Window(lengths=((1,),), dropped=dropped))
    return SimpleNamespace(event=event, ledger=ledger, last={Kind.STEP: Event(Kind.STEP, before)})


def test_a_short_first_window_counts_where_its_counter_starts_there():
    assert after_a_short_first(short_first(restarts=True))
    assert not after_a_short_first(short_first(restarts=None))


def test_a_counter_that_runs_on_over_erased_micro_steps_is_not_early():
    assert not after_a_short_first(short_first(restarts=False, dropped=1))


def test_a_step_at_another_place_came_early_itself():
    assert not after_a_short_first(short_first(restarts=True, before=THERE))
