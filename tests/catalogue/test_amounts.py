"""What rules ask of a moment, where no example comes to the rarer answers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from amplint.analysis import findings_of
from amplint.catalogue.amounts import (
    after_a_backward,
    after_a_short_first,
    below_the_scale,
    erasure_words,
    runs_ahead,
)
from amplint.catalogue.through import crossed_by_hand
from amplint.protocol.cadence import Cadence
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


def test_a_first_step_at_a_gate_that_nobody_knows_to_be_open_is_not_early():
    moment = short_first(restarts=True)
    moment.last[Kind.STEP] = Event(Kind.STEP, HERE, gate=Gate(HERE))
    assert not after_a_short_first(moment)


def scheduler_step(cadence, repeats=True, **detail):
    return SimpleNamespace(event=Event(Kind.SCHEDULER_STEP, HERE, repeats=repeats, detail=detail), cadence=cadence)


def test_a_schedule_of_a_mere_number_runs_ahead_only_when_it_is_over():
    assert not runs_ahead(scheduler_step(Cadence(horizon=4, cadence_steps=3)))
    assert runs_ahead(scheduler_step(Cadence(horizon=4, cadence_steps=4)))
    assert runs_ahead(scheduler_step(Cadence()))


def test_a_step_once_per_epoch_or_of_a_schedule_that_stands_still_does_not_run_ahead():
    assert not runs_ahead(scheduler_step(Cadence(), repeats=False))
    assert not runs_ahead(scheduler_step(Cadence(), still="yes"))


def update_then_step(scaler, through=""):
    detail = {"through": through} if through else {}
    return SimpleNamespace(
        event=Event(Kind.STEP, HERE, scaler="scaler", detail=detail),
        last={Kind.UPDATE: Event(Kind.UPDATE, THERE, scaler=scaler, detail=detail)},
    )


def test_an_update_and_a_step_cross_where_one_of_them_is_the_users_own():
    assert crossed_by_hand(update_then_step("scaler"))
    assert not crossed_by_hand(update_then_step("scaler", "accelerate"))


def test_the_update_of_another_scaler_does_not_cross():
    assert not crossed_by_hand(update_then_step("other"))


@pytest.mark.parametrize(
    ("limit", "scale", "below"),
    [
        ("1.0", "1024", True),
        ("5.0", "8.0", True),
        ("5.0", "128.0", True),
        ("512.0", "1024", False),
        ("1.0", None, True),
    ],
)
def test_a_threshold_that_was_multiplied_by_the_scale_is_not_below_it(limit, scale, below):
    detail = {"limit": limit} if scale is None else {"limit": limit, "scale": scale}
    assert below_the_scale(SimpleNamespace(event=Event(Kind.CLIP, HERE, detail=detail))) is below


RATES = {
    "in place": "optimizer = torch.optim.SGD(model.parameters(), lr=args.lr / args.accum)",
    "by a name": "rate = args.lr\n    rate /= args.accum\n    optimizer = torch.optim.SGD(model.parameters(), lr=rate)",
    "by a function": "optimizer = torch.optim.SGD(model.parameters(), lr=rate_of(args))",
}
LOOP = """
import torch


def rate_of(args):
    return args.lr / args.accum


def train(model, loader, args):
    {made}
    for i, (x, y) in enumerate(loader):
        torch.nn.functional.mse_loss(model(x), y).backward()
        if (i + 1) % args.accum == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
"""


@pytest.mark.parametrize("made", RATES.values(), ids=RATES)
def test_a_rate_that_is_divided_hides_a_missing_division_wherever_it_is_computed(made):
    found = findings_of(LOOP.format(made=made), "train.py")
    assert [(one.code, one.severity) for one in found] == [("missing-loss-division", "warning")]
    (error,) = findings_of(
        LOOP.format(made=made).replace("args.lr / args.accum", "args.lr").replace("rate /=", "# "), "a.py"
    )
    assert error.severity == "error"


BESIDE_A_LOOP = """\
import torch


def twice(model, batches, n):
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(n):
        model(batches).mean().backward()
        optimizer.step()
    optimizer.zero_grad()
    for _ in range(n):
        model(batches).mean().backward()
        optimizer.step()
"""


def test_a_message_says_where_gradients_are_zeroed():
    (found,) = findings_of(BESIDE_A_LOOP, "train.py")
    assert "not zeroed between the steps of the loop" in found.message


def test_a_process_shows_that_gradients_are_zeroed_now_and_then():
    words = erasure_words(SimpleNamespace(event=Event(Kind.ZERO_GRAD, HERE)))
    assert words == {"zeroed": "zeroed only once in several steps", "since": "the last erasure"}


def test_a_run_that_has_back_propagated_nothing_only_measures():
    assert after_a_backward(SimpleNamespace(last={Kind.BACKWARD: Event(Kind.BACKWARD, HERE)}))
    assert not after_a_backward(SimpleNamespace(last={Kind.CLIP: Event(Kind.CLIP, HERE)}))
