"""A report lists the rules that the run could have broken, and says of the others why it could not."""

import pytest

from tests.runtime.live import guarded

HEAD = """\
import torch
from torch import nn
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def loss():
    return nn.functional.mse_loss(model(torch.randn(4, 4)), torch.randn(4, 3))

"""
PLAIN = """\
for _ in range(4):
    loss().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
SCALED = """\
scaler = torch.amp.GradScaler("cpu")
for _ in range(4):
    scaler.scale(loss()).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""
CLIPPED = "gradients clipped"


@pytest.fixture
def reach(tmp_path):
    def of(body, **options):
        report = guarded(HEAD + body, tmp_path, **options).report()
        return set(report["rules"]), report["rules_out_of_reach"]

    return of


def test_what_never_happened_is_named(reach):
    rules, others = reach(PLAIN)
    assert {"missing-zero-grad", "missing-loss-division", "mean-of-token-means"} <= rules
    assert CLIPPED in others["clip-after-step"]
    assert others["ranks-disagree"] == "there is one process"
    assert "amplint" in others["invalid-autocast-arguments"]
    assert "scaler update" in others["collapsed-loss-scale"]
    assert not rules & set(others)


def test_what_happens_can_be_judged(reach):
    rules, _ = reach(SCALED)
    assert {"clip-after-step", "clip-before-unscale", "repeated-unscale", "collapsed-loss-scale"} <= rules


def test_rules_about_numbers_need_numbers(reach):
    rules, others = reach(SCALED, probe_every=0)
    assert others["collapsed-loss-scale"] == "no numbers are read"
    assert "mean-of-token-means" in rules  # what ignores targets is seen without them
