"""In a steady loop a call is only compared with the one that is expected; what is not as expected is found as ever."""

import pytest
import torch
from torch import nn

from runtime_guard import guard

STEADY = 80
"""Windows, after which everything is as it was for long."""


class Loop:
    """Windows of two micro-steps through a scaler, each of which may have something odd about it."""

    def __init__(self):
        torch.manual_seed(0)
        self.model = nn.Linear(4, 3)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda update: 0.999**update)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        self.compared = 0
        self.average = None

    def window(self, odd="", micro_steps=2):
        for at in range(micro_steps):
            loss = nn.functional.cross_entropy(self.model(torch.randn(5, 4)), torch.tensor([0, 1, 2, 0, 1]))
            divisor = {"undivided": 1, "divided by three": 3}.get(odd, 2)
            if odd == "overflow" and at == 0:
                loss = loss * float("inf")
            self.scaler.scale(loss / divisor).backward()
            if odd == "zeroed between" and at == 0:
                self.optimizer.zero_grad()
        if odd == "by hand":
            self.model.weight.grad.mul_(0.5)
        if odd == "dropped":
            self.model.zero_grad()
        if odd != "clip first":
            self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 2.0 if odd == "another limit" else 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        for _ in range(2 if odd == "scheduler twice" else 1):
            self.scheduler.step()
        if odd != "not zeroed":
            self.optimizer.zero_grad()
        if self.average is not None:
            self.average.update_parameters(self.model)

    def run(self, listening, odds):
        for odd in odds:
            self.window(odd, micro_steps=1 if odd == "a tail" else 2)
            self.compared += listening._listening._rhythm.on


def guarded(odds, averaged=False, **options):
    loop = Loop()
    loop.average = torch.optim.swa_utils.AveragedModel(loop.model) if averaged else None
    with guard(mode="record", **options) as listening:
        loop.run(listening, odds)
    return loop, listening


def codes(listening):
    return {(one.code, one.count) for one in listening.violations}


@pytest.mark.parametrize("probe_every", [0, 1, 16])
def test_a_steady_loop_is_compared_and_reported_like_any_other(probe_every):
    loop, listening = guarded([""] * STEADY, probe_every=probe_every)
    assert loop.compared > STEADY / 4
    report = listening.report()
    assert report["violations"] == []
    assert report["windows"]["micro_steps"] == {"2": STEADY}
    assert listening.recorder.tally.unscales == STEADY
    assert listening.recorder.passes == 2 * STEADY
    assert report["schedulers"][0]["steps"] == STEADY
    if probe_every:
        (optimizer,) = report["optimizers"]
        assert optimizer["windows"] == STEADY
        assert optimizer["weight_sum"]["graph"] == pytest.approx({"last": 1, "min": 1, "max": 1, "count": STEADY})
        assert optimizer["gradient_norm"]["count"] == STEADY
        assert report["scalers"][0]["steps"] == STEADY


def test_nothing_is_compared_where_the_call_that_proves_a_violation_is_to_raise():
    loop = Loop()
    with guard(mode="raise") as listening:
        loop.run(listening, [""] * STEADY)
    assert loop.compared == 0


@pytest.mark.parametrize(
    ("odd", "code"),
    [
        ("clip first", "clip-before-unscale"),
        ("scheduler twice", "scheduler-every-micro-step"),
        ("undivided", "missing-loss-division"),
        ("not zeroed", "missing-zero-grad"),
    ],
)
def test_what_goes_wrong_late_is_found_and_counted_as_without_a_steady_loop(odd, code):
    """The same windows without the steady ones before them say what is to be found."""
    _, expected = guarded([""] * 4 + [odd] * 5 + [""])
    _, listening = guarded([""] * STEADY + [odd] * 5 + [""])
    assert codes(listening) == codes(expected)


@pytest.mark.parametrize("odd", ["clip first", "undivided"])
def test_what_goes_wrong_in_every_seventh_window_is_counted_every_time(odd):
    odds = [odd if at % 7 == 6 and at > 40 else "" for at in range(STEADY)]
    _, listening = guarded(odds)
    found = {one.code: one.count for one in listening.violations}
    wanted = {"clip first": "clip-before-unscale", "undivided": "missing-loss-division"}[odd]
    assert found.get(wanted) == odds.count(odd)


ODD = (
    "clip first",
    "scheduler twice",
    "undivided",
    "divided by three",
    "not zeroed",
    "zeroed between",
    "a tail",
    "overflow",
    "by hand",
    "another limit",
)


def seen(listening):
    """All that a guard knows at the end, but for times, and how often it has sampled the ledger."""
    recorder, report = listening.recorder, listening.report()
    told = {name: report[name] for name in ("violations", "windows", "optimizers", "scalers", "schedulers", "timeline")}
    for optimizer in told["optimizers"]:
        sums = {**optimizer.get("weight_sum", {}), "ledger": None}
        optimizer.update(weight_sum=sums, gradient_error=None, touches=None)
    for kept in told["timeline"]:
        kept["events"] = [{**event, "at": None} for event in kept["events"]]
    told["windows"]["effective_lr_multiplier"] = None
    sites = {name: {kind: one.site for kind, one in last.items()} for name, last in recorder.state.last.items()}
    kept = recorder.state.ledgers, recorder.state.cadences, sites
    return {**told, "state": kept, "tally": recorder.tally, "passes": recorder.passes}


SHORT = [""] * 60 + ["clip first"] + [""] * 19
LONG = [""] * 30 + [odd for one in ODD for odd in [""] * 15 + [one]] + [""] * 120


@pytest.mark.parametrize(("odds", "averaged"), [(LONG, False), (SHORT, True)])
def test_what_is_counted_is_what_would_have_been_heard(odds, averaged, monkeypatch):
    """Odd windows, each after some that are alike, then many alike, with and without a rhythm. A weight average is
    heard on the way."""
    found, compared = [], []
    monkeypatch.setattr("runtime_guard.rhythm.AWAKE", len(odds))  # no window passes by without being compared
    for regular in (3, len(odds)):
        monkeypatch.setattr("runtime_guard.course.REGULAR", regular)
        loop, listening = guarded(odds, averaged)
        found.append(seen(listening))
        compared.append(loop.compared)
    assert compared[0] > len(odds) / 3 > compared[1] == 0
    for name, counted in found[0].items():
        assert counted == found[1][name]
