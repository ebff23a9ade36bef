"""What is left of gradients that were clipped by hand while they carried the loss scale gives the clip away."""

import pytest

from tests.runtime.live import guarded, told

LOOP = """\
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
def norm_of():
    return torch.stack([p.grad.norm() for p in model.parameters()]).norm()
for index in range({rounds}):
    x, y = torch.randn(4, 4), torch.randint(3, (4,))
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(x).float(), y)
    scaler.scale(loss).backward()
    {before}
    norm = norm_of()
    for p in model.parameters():
        {edit}
    {after}
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""
ROW = 17


def found(folder, edit, before="pass", after="pass", rounds=6):
    """What is said of a loop that edits its gradients so."""
    source = LOOP.format(edit=edit, before=before, after=after, rounds=rounds)
    return guarded(source, folder, optimizer=[])


@pytest.mark.parametrize(
    "edit",
    [
        "p.grad.mul_(torch.clamp(2.0 / norm, max=1.0))",
        "p.grad.clamp_(-0.5, 0.5)",
        "p.grad *= 2.0 / norm",
        "p.grad = p.grad.clamp(-0.5, 0.5)",
    ],
)
@pytest.mark.parametrize("after", ["pass", "scaler.unscale_(optimizer)"])
def test_a_threshold_that_two_windows_have_met_is_a_clip(tmp_path, edit, after):
    assert told(found(tmp_path, edit, after=after)) == [f"{ROW}: clip-before-unscale"]


def test_the_effective_threshold_is_told(tmp_path):
    (violation,) = found(tmp_path, "p.grad.clamp_(-0.5, 0.5)").violations
    assert "the effective threshold is 0.00049" in violation.message


def test_which_of_several_edits_it_was_is_not_guessed(tmp_path):
    two = found(tmp_path, "p.grad.clamp_(-0.5, 0.5)", after="next(model.parameters()).grad.mul_(1.0)")
    assert told(two) == ["19: clip-before-unscale"]


@pytest.mark.parametrize(
    ("edit", "before"),
    [
        ("p.grad.div_(2)", "pass"),
        ("p.grad.mul_(torch.rand_like(p.grad))", "pass"),
        ("p.grad.clamp_(-0.5, 0.5)", "scaler.unscale_(optimizer)"),
        ("p.grad.clamp_(-0.1 * scaler.get_scale(), 0.1 * scaler.get_scale())", "pass"),
        ("p.grad.mul_(torch.clamp(scaler.get_scale() / norm, max=1.0))", "pass"),
    ],
)
def test_other_edits_are_no_clip(tmp_path, edit, before):
    assert told(found(tmp_path, edit, before=before)) == []


def test_one_window_tells_nothing(tmp_path):
    assert told(found(tmp_path, "p.grad.clamp_(-0.5, 0.5)", rounds=1)) == []


def test_equal_gradients_tell_nothing(tmp_path):
    same = "torch.manual_seed(1); [p.data.fill_(0.1) for p in model.parameters()]"
    assert told(found(tmp_path, "p.grad.div_(4000)", after=same)) == []
