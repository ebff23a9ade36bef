"""Regions that torch.compile has made one node of: the guard says what a loss in them weighs, or that nobody knows."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from runtime_guard import guard

pytestmark = pytest.mark.filterwarnings("ignore")
N = 4


def trained(backend, loss_of, by=1, windows=3):
    """The guard of a run whose loss is made in a compiled region, and the parameters that come of it."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    compiled = torch.compile(lambda x, y: loss_of(model(x), y), backend=backend)
    with guard(optimizer, mode="record") as found:
        for _ in range(windows):
            for _ in range(N):
                loss = compiled(torch.randn(8, 6), torch.randint(3, (8,)))
                (loss / by if by > 1 else loss).backward()
            optimizer.step()
            optimizer.zero_grad()
    return found, [parameter.detach() for parameter in model.parameters()]


def divided(output, target):
    return F.cross_entropy(output, target) / N


def whole(output, target):
    return F.cross_entropy(output, target, ignore_index=-1)


def mean(output, target):
    return output.square().mean() / N


def smoothed(output, target):
    return F.cross_entropy(output, target, label_smoothing=0.1)


def of_a_sum(output, target):
    return F.cross_entropy(output, target, reduction="sum") / 4


def codes(found):
    return [one.code for one in found.violations]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    ("loss_of", "by", "wrong"),
    [
        (divided, 1, []),
        (whole, N, []),
        (mean, 1, []),
        (whole, 1, ["missing-loss-division"]),
        (divided, N, ["wrong-loss-divisor"]),
    ],
)
def test_a_division_inside_of_a_compiled_region_counts(backend, loss_of, by, wrong):
    found, _ = trained(backend, loss_of, by)
    assert codes(found) == wrong
    weight = (1 if loss_of is whole else 1 / N) * N / by
    assert found.report()["optimizers"][0]["weight_sum"]["graph"]["last"] == pytest.approx(weight)


@pytest.mark.parametrize("loss_of", [smoothed, of_a_sum])
def test_what_cannot_be_read_in_a_compiled_region_is_said_to_be_unknown(loss_of):
    found, _ = trained("aot_eager", loss_of)
    report = found.report()
    assert codes(found) == []
    assert report["windows"]["micro_steps"] == {"4": 3}
    assert not any("weight" in line for line in report["confirmed"])
    assert report["not_covered"] == ["a loss inside of a compiled region: what it weighs is not known"]


def test_a_compiled_region_computes_the_same_under_the_guard(monkeypatch):
    _, guarded = trained("aot_eager", divided)
    monkeypatch.setenv("RUNTIME_GUARD", "off")
    _, plain = trained("aot_eager", divided)
    assert all(torch.equal(one, other) for one, other in zip(guarded, plain, strict=True))
