"""The multiplier that was really applied, and who applied it."""

import pytest
import torch

from tests.runtime.numbers.loops import TOTAL, WINDOW, Run, token_loss


def right(logits, y):
    return token_loss(logits, y, reduction="sum") / TOTAL


def whole_sums(logits, y):
    return token_loss(logits, y, reduction="sum") / TOTAL * WINDOW


def test_a_right_window_has_the_multiplier_one():
    assert Run(right).last("multiplier_by_ledger") == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("scale", [None, 1024.0, 65536.0])
def test_what_is_too_large_is_measured_through_any_scale(scale):
    assert Run(whole_sums, scale=scale).last("multiplier_by_ledger") == pytest.approx(WINDOW, abs=1e-5 * WINDOW)


def test_a_clip_before_unscale_leaves_little_and_is_named():
    run = Run(right, scale=65536.0, clip=1.0)
    assert run.last("multiplier_by_ledger") < 1e-3
    assert run.account.touches["clip"].low < 1e-3
    assert "clip multiplied the gradient by" in run.guard.summary()


def test_a_late_division_of_the_gradients_counts():
    def divide(model):
        for parameter in model.parameters():
            parameter.grad.div_(WINDOW)

    run = Run(whole_sums, by_hand=divide)
    assert run.last("weight_sum_by_graph") == pytest.approx(WINDOW, rel=1e-6)
    assert run.last("multiplier_by_ledger") == pytest.approx(1, abs=1e-5)


def test_every_window_is_measured_anew():
    run = Run(right, windows=3)
    figure = run.account.figures["multiplier_by_ledger"]
    assert figure.count == 3
    assert figure.low == pytest.approx(figure.high, abs=1e-6)


def test_after_the_first_windows_the_ledger_follows_one_in_so_many():
    run = Run(right, windows=20)
    assert run.account.figures["multiplier_by_ledger"].count == 5  # four, and the seventeenth
    assert run.account.figures["weight_sum_by_graph"].count == 20


def halved(model):
    for parameter in model.parameters():
        parameter.grad.mul_(0.5)


def averaged_with_another(model):
    for parameter in model.parameters():
        parameter.grad.add_(torch.randn_like(parameter.grad)).div_(2)


@pytest.mark.parametrize(("by_hand", "told"), [(halved, True), (averaged_with_another, False)])
def test_only_what_multiplies_the_gradient_is_told_to_multiply_it(by_hand, told):
    """An average with the gradients of another rank is no factor."""
    run = Run(lambda logits, y: token_loss(logits, y) / WINDOW, by_hand=by_hand, windows=2)
    assert ("code before the step multiplied the gradient by 0.500" in run.guard.summary()) is told
    assert ("multiplied the gradient" in run.guard.summary()) is told
