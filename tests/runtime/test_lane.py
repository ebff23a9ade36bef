"""Windows of a loop that has been steady for long pass by; what its calls show is found and counted as ever."""

import threading
from contextlib import suppress

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import mse_loss as mse
from torch.utils.data import DataLoader, TensorDataset

from runtime_guard import guard, hooks
from tests.runtime.test_steady_loops import ODD, Loop, codes

pytestmark = pytest.mark.skipif(
    hooks.TRACER is None, reason="where torch does not say who traces, every call is heard (torch 2.4 and 2.6)"
)
IN_NUMBERS_ALONE = ("undivided", "divided by three", "by hand", "another limit")
IN_CALLS = tuple(odd for odd in ODD if odd not in IN_NUMBERS_ALONE)


@pytest.fixture
def soon(monkeypatch):
    """Windows pass by after four that were compared, and seven of them at most."""
    monkeypatch.setattr("runtime_guard.rhythm.AWAKE", 4)
    monkeypatch.setattr("runtime_guard.rhythm.MOST", 7)


class Counted:
    """How many windows have begun while windows passed by."""

    def __init__(self, listening):
        self._lane, self.asleep = listening._listening._lane, 0

    def look(self):
        self.asleep += self._lane.steps is not None


def guarded(act, **options):
    """What is known after an act, and how many of its windows began while windows passed by."""
    torch.manual_seed(0)
    with guard(mode="record", **options) as listening:
        counted = Counted(listening)
        act(counted)
    return listening, counted.asleep


def known(listening):
    """What does not depend on the numbers of windows whose numbers were not read."""
    recorder, report = listening.recorder, listening.report()
    told = {
        name: report[name] for name in ("violations", "windows", "scalers", "schedulers", "timeline", "not_covered")
    }
    for scaler in told["scalers"]:
        scaler["scale_range"] = scaler["scale_range"] and {**scaler["scale_range"], "count": None}
    for kept in told["timeline"]:
        kept["events"] = [{**event, "at": None} for event in kept["events"]]
    told["windows"]["effective_lr_multiplier"] = None
    tally = {**vars(recorder.tally), "unread": None, "weights": None}
    sites = {name: {kind: one.site for kind, one in last.items()} for name, last in recorder.state.last.items()}
    inside = recorder.thread.inside, recorder.thread.stepping
    state = recorder.state
    return {
        **told,
        "state": (state.ledgers, state.cadences, sites),
        "tally": tally,
        "passes": recorder.passes,
        "in": inside,
    }


def same_with_and_without(act, monkeypatch, share=6, **options):
    """That an act leaves the same behind where windows pass by, and where every window is heard."""
    listening, asleep = guarded(act, **options)
    found = known(listening)
    monkeypatch.setattr("runtime_guard.course.REGULAR", 10_000)
    other, never = guarded(act, **options)
    assert never == 0 < asleep
    assert asleep > found["windows"]["count"] / share
    for name, value in known(other).items():
        assert found[name] == value
    return listening


def windows(odds, before=lambda loop, at: None, **parts):
    """An act: windows, some of them odd. `before` is called before each."""

    def act(counted):
        loop = Loop()
        for name, value in parts.items():
            setattr(loop, name, value(loop))
        for at, odd in enumerate(odds):
            before(loop, at)
            loop.window(odd, micro_steps=1 if odd == "a tail" else 2)
            counted.look()

    return act


@pytest.mark.parametrize("probe_every", [0, 1, 16])
def test_windows_that_are_alike_pass_by_and_are_counted(soon, probe_every):
    listening, asleep = guarded(windows([""] * 160), probe_every=probe_every)
    assert asleep > 60
    report = listening.report()
    assert report["violations"] == []
    assert report["windows"]["micro_steps"] == {"2": 160}
    assert report["schedulers"][0]["steps"] == 160
    assert listening.recorder.passes == 320
    if probe_every:
        (optimizer,) = report["optimizers"]
        assert optimizer["windows"] == 160
        assert 20 < optimizer["weight_sum"]["graph"]["count"] < 100
        assert optimizer["weight_sum"]["graph"]["count"] + listening.recorder.tally.unread == 160
        assert report["scalers"][0]["steps"] == 160
        assert f"weight 1.000 in {optimizer['weight_sum']['graph']['count']} of them" in report["seen"][0]


def test_what_the_calls_show_is_found_as_ever(soon, monkeypatch):
    odds = [""] * 40 + [odd for one in IN_CALLS for odd in [""] * 25 + [one]] + [""] * 40
    same_with_and_without(windows(odds), monkeypatch)


ODDS = st.lists(st.tuples(st.integers(0, 30), st.sampled_from(IN_CALLS)), min_size=1, max_size=4)


@settings(
    max_examples=5,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(ODDS)
def test_it_does_not_matter_when_that_is(soon, odds):
    every = [""] * 45 + [one for pause, odd in odds for one in ([""] * pause + [odd])] + [""] * 15
    with pytest.MonkeyPatch.context() as changed:
        same_with_and_without(windows(every), changed, share=100)


def test_the_numbers_of_the_run_are_what_they_were(soon):
    found = []
    for mode in ("record", "off"):
        torch.manual_seed(0)
        loop = Loop()
        with guard(mode=mode) as listening:
            counted = Counted(listening)
            for _ in range(100):
                loop.window()
                counted.look()
        found.append(([one.clone() for one in loop.model.parameters()], counted.asleep))
    (with_it, asleep), (without, never) = found
    assert asleep > 20
    assert never == 0
    assert all(torch.equal(*pair) for pair in zip(with_it, without, strict=True))


def test_what_goes_wrong_for_good_in_its_numbers_is_found_soon(soon):
    listening, _ = guarded(windows([""] * 90 + ["undivided"] * 20))
    ((code, count),) = codes(listening)
    assert code == "missing-loss-division"
    assert count >= 20 - 7


def test_a_scale_that_grows_is_seen(soon, monkeypatch):
    def grows(loop):
        return torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=50)

    listening = same_with_and_without(windows([""] * 170, scaler=grows), monkeypatch)
    (scaler,) = listening.report()["scalers"]
    assert (scaler["scale"], scaler["growths"]) == (64.0, 3)


def test_who_asks_in_the_middle_is_told_what_is_true_now(soon):
    seen = []

    def act(counted):
        loop = Loop()
        for _ in range(120):
            loop.window()
            counted.look()
            if counted.asleep in (10, 20, 25):
                seen.append(listening.report()["windows"]["count"] - len(told))
            told.append(None)

    told = []
    torch.manual_seed(0)
    with guard(mode="record") as listening:
        counted = Counted(listening)
        act(counted)
    assert len(seen) >= 3
    assert set(seen) == {1}


def test_what_is_saved_on_the_way_is_heard(soon, monkeypatch, tmp_path):
    def save(loop, at):
        if at % 40 == 37:
            torch.save({"model": loop.model.state_dict(), "optimizer": loop.optimizer.state_dict()}, tmp_path / "it.pt")

    same_with_and_without(windows([""] * 200, before=save), monkeypatch)


class Broken(torch.autograd.Function):
    """A backward that fails, once it is told to."""

    fails = False

    @staticmethod
    def forward(ctx, value):
        return value.clone()

    @staticmethod
    def backward(ctx, gradient):
        if Broken.fails:
            raise RuntimeError("out of memory")
        return gradient


class Fragile(torch.optim.SGD):
    """An optimizer whose step fails, once it is told to."""

    fails = False

    def step(self, closure=None):
        if self.fails:
            raise RuntimeError("no step")
        return super().step(closure)


def stepping(fails, at_fault):
    """An act: plain windows of one micro-step, in which something raises now and then, and the loop goes on."""

    def act(counted):
        model = nn.Linear(4, 3)
        optimizer = Fragile(model.parameters(), lr=0.01)
        for at in range(200):
            Broken.fails = at_fault == "backward" and at in fails
            bad = float("nan") if at_fault == "clip" and at in fails else 1.0
            with suppress(RuntimeError, ValueError):
                loss = mse(Broken.apply(model(torch.randn(5, 4))), torch.zeros(5, 3)) * bad
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
                optimizer.fails = at_fault == "step" and at in fails
                optimizer.step()
            optimizer.zero_grad()
            counted.look()

    return act


def test_the_last_call_of_a_window_may_raise(soon, monkeypatch):
    def act(counted):
        model = nn.Linear(4, 3)
        optimizer = Fragile(model.parameters(), lr=0.01)
        for at in range(140):
            mse(model(torch.randn(5, 4)), torch.zeros(5, 3)).backward()
            optimizer.fails = at in (100, 120, 121)
            with suppress(RuntimeError):
                optimizer.step()
            counted.look()

    listening = same_with_and_without(act, monkeypatch)
    assert listening.report()["not_covered"] == []


@pytest.mark.parametrize("at_fault", ["backward", "clip", "step"])
def test_a_call_that_raises_is_one_that_was_not_expected(soon, monkeypatch, at_fault):
    same_with_and_without(stepping({120, 150, 151}, at_fault), monkeypatch)


def test_a_loader_runs_out(soon, monkeypatch):
    def act(counted):
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        data = TensorDataset(torch.randn(59 * 2, 4))
        for _ in range(4):
            for at, (batch,) in enumerate(DataLoader(data, batch_size=1)):
                (mse(model(batch), torch.zeros(1, 3)) / 2).backward()
                if at % 2 == 1:
                    optimizer.step()
                    optimizer.zero_grad()
                    counted.look()

    same_with_and_without(act, monkeypatch)


def test_two_optimizers_in_turn(soon, monkeypatch):
    def act(counted):
        nets = [nn.Linear(4, 4), nn.Linear(4, 4)]
        optimizers = [torch.optim.SGD(net.parameters(), lr=0.01) for net in nets]
        scaler, zeros = torch.amp.GradScaler("cpu", init_scale=8.0), torch.zeros(3, 4)
        for at in range(160):
            for net, optimizer in zip(nets, optimizers, strict=True):
                optimizer.zero_grad()
                loss = mse(net(torch.randn(3, 4)), zeros) * (float("inf") if at == 130 else 1.0)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
            scaler.update()
            counted.look()

    same_with_and_without(act, monkeypatch)


def test_a_loss_that_is_scaled_before_the_gradients_are_zeroed(soon, monkeypatch):
    """What was scaled while windows passed by is known to be, whenever the rhythm is woken."""

    def act(counted):
        model = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        for at in range(160):
            scaled = scaler.scale(mse(model(torch.randn(3, 4)), torch.zeros(3, 4)))
            optimizer.zero_grad()
            if at in (111, 122, 133, 134):
                scaled.backward()
            else:
                scaled.backward()
            scaler.step(optimizer)
            scaler.update()
            counted.look()

    listening = same_with_and_without(act, monkeypatch)
    assert listening.violations == []


def test_what_another_thread_trains_wakes_the_rhythm(soon):
    def act(counted):
        loop = Loop()
        other = Loop()
        for at in range(150):
            if at == 120:
                thread = threading.Thread(target=other.window)
                thread.start()
                thread.join()
            loop.window()
            counted.look()

    listening, asleep = guarded(act)
    assert asleep > 20
    assert listening.violations == []
    assert listening.report()["windows"]["count"] == 151


def test_what_fails_in_the_lane_is_switched_off_and_said(soon, monkeypatch, capsys):
    monkeypatch.setattr("runtime_guard.lane._frame", lambda depth: 1 / 0)
    listening, _ = guarded(windows([""] * 120))
    assert capsys.readouterr().err.count("the lane failed in the guard") == 1
    assert listening.violations == []


def test_every_window_is_looked_at_where_some_are_asked_for(soon):
    _, asleep = guarded(windows([""] * 90), stop_after_windows=1000)
    assert asleep == 0


@pytest.mark.filterwarnings("ignore")
def test_calls_of_a_compiled_function_are_counted_too(soon):
    """What torch.compile traces goes past the lane, but what it calls is of the same period."""
    torch._dynamo.reset()
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    x, y = torch.randn(4, 4), torch.randn(4, 3)

    @torch.compile(backend="eager")
    def micro_step():
        (mse(model(x), y) / 2).backward()

    with guard(mode="record") as listening:
        for _ in range(160):
            for _ in range(2):
                micro_step()
            optimizer.step()
            optimizer.zero_grad()
    assert listening.report()["windows"]["micro_steps"] == {"2": 160}
