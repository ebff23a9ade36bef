"""The loss scale of a run and the steps that it skipped."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from runtime_guard import guard
from runtime_guard.measured import series, summary


def trained(bad, *, steps=32, scale=1024.0, fused=False, interval=2000):
    """A guard around `steps` steps of which those in `bad` overflow."""
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=fused)
    scaler = torch.amp.GradScaler("cpu", init_scale=scale, growth_interval=interval)
    with guard(mode="record") as watching:
        for step in range(steps):
            optimizer.zero_grad()
            x = torch.full((8, 4), float("inf")) if step in bad else torch.randn(8, 4)
            scaler.scale(F.cross_entropy(model(x), torch.randint(3, (8,)))).backward()
            scaler.step(optimizer)
            scaler.update()
    return watching


def codes(watching):
    return {violation.code for violation in watching.violations}


@pytest.mark.parametrize("fused", [False, True])
def test_skipped_steps_and_the_scale_are_counted(fused):
    watching = trained({3, 9}, fused=fused)
    [scale] = watching.recorder.numbers.scales.opened
    assert (scale.steps, scale.skipped, scale.first, scale.row) == (32, 2, 0, 0)
    assert scale.scale == 256.0
    assert codes(watching) == set()


@pytest.mark.parametrize(("skipped", "told"), [(1, False), (4, False), (5, True), (9, True)])
@pytest.mark.parametrize("fused", [False, True])
def test_five_skipped_steps_at_the_start_are_a_slow_start(skipped, told, fused):
    assert ("high-initial-scale" in codes(trained(set(range(skipped)), fused=fused))) is told


def test_five_skipped_steps_later_are_not():
    assert codes(trained(set(range(10, 15)))) == set()


@pytest.mark.parametrize(("skipped", "told"), [(19, False), (20, True)])
def test_twenty_skipped_steps_in_a_row_are_a_collapse(skipped, told):
    watching = trained(set(range(5, 5 + skipped)), scale=2.0**40)
    assert ("collapsed-loss-scale" in codes(watching)) is told


def test_a_scale_below_one_is_a_collapse():
    assert "collapsed-loss-scale" in codes(trained({4, 5, 6}, scale=2.0))


@pytest.mark.parametrize(
    ("bad", "steps", "told"),
    [
        ({3, 8, 13, 18, 23}, 30, True),
        ({3, 8, 13}, 30, False),  # three may be chance
        ({3, 8, 13, 18}, 19, False),  # too early to say
        ({3, 8, 13, 25, 30}, 40, False),  # it has grown in between
        ({0, 1, 2, 3}, 30, False),  # it began too high
    ],
)
def test_a_scale_that_falls_again_and_again_and_never_grows_is_told(bad, steps, told):
    watching = trained(bad, steps=steps, interval=10)
    assert ("unrecovered-loss-scale" in codes(watching)) is told


def test_the_curves_and_the_summary_tell_of_it():
    watching = trained({3})
    curves = series(watching.recorder.numbers)
    assert [y for _, y in curves["GradScaler#1/loss_scale"]][2:5] == [1024.0, 512.0, 512.0]
    assert curves["GradScaler#1/skipped_steps"][-1] == (32, 1.0)
    assert "GradScaler#1: 32 steps, 1 skipped, scale 512 to 1.02e+03" in summary(watching.recorder.numbers)
