"""A window replayed against its full effective batch."""

import pytest
import torch
from torch import nn

from runtime_guard import assert_window_matches_full_batch
from tests.runtime.numbers.loops import CLASSES, TOTAL, WIDTH, WINDOW, micro_batches, token_loss


def made(*layers):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, 16), *layers, nn.Linear(16, CLASSES))
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def right(model, x, y):
    return token_loss(model(x), y, reduction="sum") / TOTAL


def averaged(model, x, y):
    return token_loss(model(x), y) / WINDOW


def undivided(model, x, y):
    return token_loss(model(x), y)


def check(model, optimizer, loss, clip=None, steps=True):
    def window(batches):
        optimizer.zero_grad()
        for x, y in batches:
            loss(model, x, y).backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        if steps:
            optimizer.step()

    return assert_window_matches_full_batch(model, window, micro_batches(), lambda batch: undivided(model, *batch))


@pytest.mark.parametrize("steps", [True, False])
def test_a_right_window_matches(steps):
    found = check(*made(), right, steps=steps)
    assert found.multiplier == pytest.approx(1, abs=1e-6)
    assert found.difference < 1e-6
    assert found.how == "all micro-batches in one"


def test_dropout_is_replayed_with_the_same_random_numbers():
    found = check(*made(nn.Dropout(0.3)), right)
    assert found.difference < 1e-6
    assert found.how.startswith("micro-batch by micro-batch")


def test_averaged_means_are_told_with_their_reason():
    with pytest.raises(AssertionError, match=r"each token of micro-batch 1 weighs 6.0 times a token of micro-batch 2"):
        check(*made(), averaged)


def test_an_undivided_window_is_told_with_its_reason():
    with pytest.raises(AssertionError, match=r"missing-loss-division: .* the gradient is 4.00 times"):
        check(*made(), undivided)


def test_a_clip_is_told_as_what_multiplied_the_gradient():
    with pytest.raises(AssertionError, match=r"clip multiplied the gradient by 0.0"):
        check(*made(), right, clip=0.01)


def test_a_window_that_makes_no_gradient_is_an_error_of_the_call():
    model, _ = made()
    with pytest.raises(ValueError, match=r"no gradient"):
        assert_window_matches_full_batch(model, lambda batches: None, micro_batches(), lambda batch: torch.zeros(()))


@pytest.mark.parametrize("loss", [right, undivided])
def test_everything_is_afterwards_what_it_was(loss):
    model, optimizer = made(nn.BatchNorm1d(12), nn.Dropout(0.3))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    kept = model[0].weight.grad = torch.ones_like(model[0].weight)
    random = torch.get_rng_state()
    try:
        check(model, optimizer, loss)
    except AssertionError:
        assert loss is undivided
    assert all(value.equal(before[name]) for name, value in model.state_dict().items())
    assert model[0].weight.grad is kept
    assert torch.get_rng_state().equal(random)
    assert not optimizer.state_dict()["state"]
