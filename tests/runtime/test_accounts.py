"""What becomes of the backward passes is told of each optimizer, and only what was measured right is confirmed."""

import pytest

from runtime_guard.report.html import page
from runtime_guard.report.terminal import summary
from tests.runtime.live import guarded, told

HEAD = """\
import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss
torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def loss():
    return cross_entropy(model(torch.randn(4, 4)), torch.randint(3, (4,)))

"""
ONCE = """\
for index in range(24):
    loss().backward()
    if index == 0:
        optimizer.step()
    optimizer.zero_grad()
"""
STOPS = """\
for index in range(48):
    loss().backward()
    if index < 12:
        optimizer.step()
        optimizer.zero_grad()
"""
RIGHT = """\
for index in range({windows}):
    for _ in range(2):
        (loss() / 2).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
GAN = """\
bce = nn.BCEWithLogitsLoss()
generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
of_generator = torch.optim.Adam(generator.parameters())
of_critic = torch.optim.Adam(critic.parameters())
for index in range({iterations}):
    {zero}
    bce(critic(torch.randn(8, 4)), torch.ones(8, 1)).backward()
    fake = generator(torch.randn(8, 4))
    bce(critic(fake.detach()), torch.zeros(8, 1)).backward()
    of_critic.step()
    of_generator.zero_grad()
    bce(critic(fake), torch.ones(8, 1)).backward()
    of_generator.step()
"""
CASES = {
    "once": (ONCE, [24, 1, 23, 0, 23], "24 of SGD#1 (1 stepped with, 23 erased before a step; no step in the last 23)"),
    "stops": (STOPS, [48, 12, 0, 36, 36], "48 of SGD#1 (12 stepped with, 36 left over; no step in the last 36)"),
    "right": (RIGHT.format(windows=12), [24, 24, 0, 0, 0], "24 of SGD#1 (all stepped with)"),
    "steady": (RIGHT.format(windows=400), [800, 800, 0, 0, 0], "800 of SGD#1 (all stepped with)"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_backward_passes_are_accounted_for(tmp_path, name):
    source, counts, words = CASES[name]
    found = guarded(HEAD + source, tmp_path)
    report = found.report()
    (account,) = report["passes"]
    assert [account[one] for one in ("passes", "stepped", "erased", "pending", "silent")] == counts
    right = counts[0] == counts[1]
    said = summary(found, report)
    assert f"  backward passes: {words}\n" in said
    assert f"backward passes: {words}" in page(report)
    assert ("\nconfirmed: " in said, bool(report["confirmed"])) == (right, right)


@pytest.mark.parametrize("iterations", [1, 3])
def test_two_optimizers_over_one_loss_each_zeroed_in_its_turn_are_right(tmp_path, iterations):
    source = HEAD + GAN.format(iterations=iterations, zero="of_critic.zero_grad()")
    found = guarded(source, tmp_path)
    assert told(found) == []
    by_name = {one["optimizer"]: one["passes"] for one in found.report()["passes"]}
    assert by_name == {"Adam#2": iterations, "Adam#3": 3 * iterations}
    assert {one["name"] for one in found.report()["optimizers"]} == {"Adam#2", "Adam#3"}


def test_a_critic_that_is_never_zeroed_is_told(tmp_path):
    found = guarded(HEAD + GAN.format(iterations=2, zero="pass"), tmp_path)
    assert [one.code for one in found.violations] == ["missing-zero-grad"]


def test_a_mistake_is_seen_and_not_confirmed(tmp_path):
    found = guarded(HEAD + RIGHT.format(windows=12).replace(" / 2", ""), tmp_path)
    report = found.report()
    assert report["confirmed"] == []
    assert report["seen"][0] == "12 windows of 2 micro-steps, weight 2.000"
    assert "\nseen: 12 windows of 2 micro-steps, weight 2.000\n" in summary(found, report)


def test_weights_that_differ_from_window_to_window_are_not_confirmed(tmp_path):
    source = HEAD + RIGHT.format(windows=12).replace("loss() / 2", "loss() / (2 + index)")
    assert guarded(source, tmp_path, ignore=["ALL"]).report()["confirmed"] == []


CLIPPED = """\
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for index in range(10):
    for _ in range(2):
        scaler.scale(loss() / 2).backward()
        {micro}
    {boundary}
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""
CLIP = "nn.utils.clip_grad_norm_(model.parameters(), 1e-3)"


def test_how_often_and_in_how_many_windows_stand_side_by_side(tmp_path):
    found = guarded(HEAD + CLIPPED.format(micro=CLIP, boundary="pass"), tmp_path)
    clip = next(one for one in found.report()["violations"] if one["code"] == "clip-before-unscale")
    assert (clip["count"], clip["windows"]) == (20, 10)
    assert "20 times in 10 windows\n" in summary(found, found.report())
    assert "20 times in 10 windows" in page(found.report())


def test_what_a_clip_does_to_the_gradient_is_no_learning_rate(tmp_path):
    found = guarded(HEAD + CLIPPED.format(micro="pass", boundary=f"scaler.unscale_(optimizer); {CLIP}"), tmp_path)
    report = found.report()
    assert report["violations"] == []
    assert report["windows"]["effective_lr_multiplier"] == pytest.approx(1.0)
    (line,) = (one for one in report["seen"] if one.startswith("SGD#1"))
    assert "; weight 1.000; stepped with 0.0" in line
    assert "clip multiplied the gradient by 0.0" in line


def test_a_scale_by_hand_is_said_to_be_in_the_weight(tmp_path):
    source = HEAD + (
        "for index in range(12):\n    (loss() * 1024).backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"
    )
    (line,) = (one for one in guarded(source, tmp_path).report()["seen"] if one.startswith("SGD#1"))
    assert "weight 1.02e+03, a loss scale by hand in it" in line
