"""The weight of every token, for the ways in which people normalize a loss; checked against one large batch."""

import pytest
import torch
from torch.nn import functional as F

from tests.runtime.numbers.loops import TOTAL, VALID, WINDOW, Run, full_batch_gradient, token_loss

UNEVEN = max(VALID) / min(VALID)


def mean_over_window(logits, y):
    return token_loss(logits, y) / WINDOW


def undivided(logits, y):
    return token_loss(logits, y)


def divided_twice(logits, y):
    return token_loss(logits, y) / WINDOW / WINDOW


def sum_over_all_tokens(logits, y):
    return token_loss(logits, y, reduction="sum") / TOTAL


def mean_weighted_by_its_share(logits, y):
    return token_loss(logits, y) * ((y != -100).sum() / TOTAL)


def sum_over_own_tokens(logits, y):
    return token_loss(logits, y, reduction="sum") / (y != -100).sum() / WINDOW


def masked_mean(logits, y):
    mask = (y != -100).flatten().float()
    return (token_loss(logits, y, reduction="none") * mask).sum() / mask.sum() / WINDOW


def masked_sum_over_all_tokens(logits, y):
    mask = (y != -100).flatten().float()
    return (token_loss(logits, y, reduction="none") * mask).sum() / TOTAL


def unreduced_sum_over_all_tokens(logits, y):
    return token_loss(logits, y, reduction="none").sum() / TOTAL


def mean_over_padded_length(logits, y):
    return token_loss(logits, y, reduction="none").mean() / WINDOW


def smoothed(logits, y):
    return token_loss(logits, y, label_smoothing=0.1) / WINDOW


def times_a_reciprocal(logits, y):
    return token_loss(logits, y) * (1 / WINDOW)


def divided_in_place(logits, y):
    return token_loss(logits, y).div_(WINDOW)


def with_an_auxiliary_loss(logits, y):
    return token_loss(logits, y) / WINDOW + 0.01 * logits.logsumexp(-1).pow(2).mean() / WINDOW


IDIOMS = [  # loss, sum of weights, spread of token weights
    (mean_over_window, 1.0, UNEVEN),
    (undivided, WINDOW, UNEVEN),
    (divided_twice, 1 / WINDOW, UNEVEN),
    (sum_over_all_tokens, 1.0, 1.0),
    (mean_weighted_by_its_share, 1.0, 1.0),
    (sum_over_own_tokens, 1.0, UNEVEN),
    (masked_mean, 1.0, UNEVEN),
    (masked_sum_over_all_tokens, 1.0, 1.0),
    (unreduced_sum_over_all_tokens, 1.0, 1.0),
    (smoothed, 1.0, UNEVEN),
    (times_a_reciprocal, 1.0, UNEVEN),
    (divided_in_place, 1.0, UNEVEN),
    (with_an_auxiliary_loss, 1.0, UNEVEN),
]
NAMED = pytest.mark.parametrize(("loss", "total", "spread"), IDIOMS, ids=[loss.__name__ for loss, _, _ in IDIOMS])


@NAMED
@pytest.mark.parametrize("scale", [None, 512.0])
def test_graph_and_arithmetic_agree_on_the_sum_of_weights(loss, total, spread, scale):
    run = Run(loss, scale=scale)
    assert run.last("weight_sum_by_graph") == pytest.approx(total, rel=1e-6)
    assert run.last("weight_sum_by_arithmetic") == pytest.approx(total, rel=1e-6)


@NAMED
def test_the_spread_of_token_weights_is_exact(loss, total, spread):
    assert Run(loss).last("token_weight_spread") == pytest.approx(spread, rel=1e-6)


@NAMED
def test_a_rule_speaks_of_uneven_tokens_and_only_of_those(loss, total, spread):
    assert ("mean-of-token-means" in Run(loss).codes) == (spread > 1.001)


def test_the_sum_over_all_tokens_is_right_in_every_respect():
    run = Run(sum_over_all_tokens)
    assert run.codes == set()
    assert run.last("multiplier_by_ledger") == pytest.approx(1, abs=1e-6)
    assert run.last("gradient_error") < 1e-6


def test_the_error_of_averaged_means_is_that_against_one_large_batch():
    run = Run(mean_over_window)
    full = full_batch_gradient()
    sampled = run.last("gradient_error")
    assert sampled == pytest.approx(float((run.gradient - full).norm() / full.norm()), rel=0.2)
    assert Run(sum_over_all_tokens).gradient.allclose(full, atol=1e-6)


def test_the_message_names_the_tokens():
    run = Run(mean_over_window)
    [violation] = [one for one in run.guard.violations if one.code == "mean-of-token-means"]
    assert "each token of micro-batch 1 weighs 6.0 times a token of micro-batch 2" in violation.message


def test_a_mean_over_the_padded_length_weighs_every_token_the_same():
    run = Run(mean_over_padded_length)
    assert run.last("weight_sum_by_graph") == pytest.approx(1)
    assert "mean-of-token-means" not in run.codes


def test_samples_of_a_smaller_last_batch_are_no_tokens():
    def by_sample(logits, y):
        return F.cross_entropy(logits, y) / 2

    sizes = (8, 3)
    batches = [(torch.randn(size, 8), torch.randint(0, 11, (size,))) for size in sizes]
    assert Run(by_sample, batches=batches).codes == set()


def test_classes_with_weights_of_their_own_are_not_counted_as_tokens():
    def weighted(logits, y):
        return token_loss(logits, y, weight=torch.arange(1.0, 12.0)) / WINDOW

    run = Run(weighted)
    assert "mean-of-token-means" not in run.codes
    assert run.last("weight_sum_by_graph") == pytest.approx(1)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch 2.4 warns of itself
def test_nothing_is_read_from_a_node_that_would_recompute():
    def checkpointed(logits, y):
        from torch.utils.checkpoint import checkpoint

        return checkpoint(token_loss, logits, y, use_reentrant=False) / WINDOW

    run = Run(checkpointed)
    assert run.codes == set()
    assert run.last("weight_sum_by_graph") == pytest.approx(1)


def test_factors_that_cancel_are_not_taken_for_a_missing_division():
    def doubled(logits, y):
        return 2 * F.mse_loss(logits, torch.zeros_like(logits)) / 2

    assert Run(doubled, batches=[(torch.randn(4, 8), None)] * 2).codes == set()
