"""What a loop does again and again waits a little, and nothing of it is lost."""

import pytest
import torch
from torch import nn

from runtime_guard import guard


def train(updates, odd=(), mode="record", **options):
    """Windows of two micro-steps; in the odd ones the clip comes before the unscale."""
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    said = []
    with guard(mode=mode, **options) as listening:
        for update in range(updates):
            for _ in range(2):
                loss = nn.functional.cross_entropy(model(torch.randn(5, 4)), torch.tensor([0, 1, 2, 0, 1])) / 2
                scaler.scale(loss).backward()
            if update not in odd:
                scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            said.append([(one.code, one.count) for one in listening._violations.visible()])
        state = listening.recorder.course
        waiting = state.waiting > 0
    return listening, said, waiting


def test_a_loop_that_repeats_itself_waits():
    _, _, waiting = train(12)
    assert waiting


def test_nothing_waits_where_the_call_that_proves_a_violation_is_to_raise():
    _, _, waiting = train(12, mode="raise")
    assert not waiting


def test_what_waits_is_counted_when_somebody_asks():
    listening, _, _ = train(30)
    assert listening.report()["windows"]["micro_steps"] == {"2": 30}
    assert listening.recorder.tally.unscales == 30
    assert listening.recorder.state.ledgers["optimizer#1"].window.steps == 30


def test_what_is_new_is_told_at_once():
    _, said, _ = train(14, odd={11})
    assert said[10] == []
    assert said[11] == [("clip-before-unscale", 1)]


def test_what_is_wrong_every_time_is_counted_every_time():
    listening, _, _ = train(25, odd=range(25))
    (found,) = (one for one in listening.violations if one.code == "clip-before-unscale")
    assert found.count == 25


def test_a_skipped_step_ends_up_in_its_place():
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    with guard(mode="record") as listening:
        for update in range(20):
            loss = model(torch.randn(5, 4)).square().mean() * (float("inf") if update == 15 else 1.0)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    assert listening.report()["scalers"][0]["skipped"] == 1
    assert listening.recorder.tally.windows == 20


def test_frozen_parameters_do_not_hide_a_backward():
    """The look is narrow after some passes that change the same parameters; then others are trained."""
    torch.manual_seed(0)
    layers = nn.Sequential(*(nn.Linear(4, 4) for _ in range(5)))
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.1)
    with guard(mode="record") as listening:
        for update in range(40):
            for at, layer in enumerate(layers):
                layer.requires_grad_(update < 20 or at == 2)
            layers(torch.randn(3, 4)).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    assert listening.report()["windows"]["micro_steps"] == {"1": 40}
    assert listening.violations == []


def test_token_counts_that_differ_are_read_in_every_micro_step():
    torch.manual_seed(0)
    model = nn.Linear(4, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with guard(mode="record") as listening:
        for update in range(30):
            for valid in (2, 12) if update == 25 else (7, 7):
                labels = torch.full((2, 6), -100)
                labels.view(-1)[:valid] = 1
                logits = model(torch.randn(2, 6, 4))
                (nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100) / 2).backward()
            optimizer.step()
            optimizer.zero_grad()
    spread = listening.report()["optimizers"][0]["token_weight_spread"]
    assert (spread["min"], spread["max"], spread["count"]) == pytest.approx((1.0, 6.0, 30))
