"""Loops that step in unusual ways: each is told right, or said not to be covered; and none of its numbers changes."""

import runpy

import pytest
import torch

from tests.runtime.live import guarded, told

HEAD = """\
import os, threading
import torch
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss
torch.manual_seed(0)
model = nn.Linear(4, 3)
inputs, targets = torch.randn(64, 4), torch.randint(3, (64,))
"""
BYPASS = """\
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for index in range(120):
    optimizer.zero_grad()
    x = torch.randn(4, 4) * (1e30 if index == {overflow} else 1.0)
    scaler.scale(mse_loss(model(x), torch.zeros(4, 3))).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if {test}:
        optimizer.step()
    scaler.update()
"""
PHASES = """\
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for index in range(20):
    optimizer.zero_grad()
    cross_entropy(model(inputs), targets).backward()
    optimizer.step()
finer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=5)
def closure():
    {zero}
    loss = cross_entropy(model(inputs), targets)
    loss.backward()
    return loss
for index in range(5):
    finer.step(closure)
"""
ZERO = """\
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.SGD, lr=0.1)
for index in range(12):
    for _ in range(2):
        (cross_entropy(model(torch.randn(4, 4)), torch.randint(3, (4,))) / {divisor}).backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
"""
HOOKS = """\
optimizers = {{parameter: torch.optim.SGD([parameter], lr=0.1) for parameter in model.parameters()}}
passes = 0
def step(parameter):
    if (passes + 1) % {window} == 0:
        optimizers[parameter].step()
        optimizers[parameter].zero_grad()
for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(step)
for index in range(24):
    (cross_entropy(model(torch.randn(4, 4)), torch.randint(3, (4,))) / {window}).backward()
    passes += 1
"""
THREADS = """\
def train(seed, model, optimizer):
    numbers = torch.Generator().manual_seed(seed)
    for index in range(60):
        optimizer.zero_grad()
        for _ in range(2):
            x, y = torch.randn(4, 4, generator=numbers), torch.randint(3, (4,), generator=numbers)
            (cross_entropy(model(x), y) / {divisor}).backward()
        optimizer.step()
models = [nn.Linear(4, 3) for _ in range(2)]
optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in models]
threads = [threading.Thread(target=train, args=(at, models[at], optimizers[at])) for at in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
INSIDE_A_PASS = """\
class Waits(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, grad):
        if threading.current_thread() is threading.main_thread() and not first.is_set():
            first.set()
            assert filled.wait(30)
        return grad
first, filled, passed = threading.Event(), threading.Event(), threading.Event()
models = [model, nn.Linear(4, 3)]
optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in models]
def train(at):
    if at and not first.wait(30):
        return
    for index in range(4):
        cross_entropy(Waits.apply(models[at](torch.randn(4, 4))), torch.randint(3, (4,))).backward()
        (filled if at else passed).set()
        assert passed.wait(30)
        optimizers[at].step()
        optimizers[at].zero_grad()
thread = threading.Thread(target=train, args=(1,))
thread.start()
train(0)
thread.join()
"""
TWO_LOSSES = """\
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for index in range(12):
    optimizer.zero_grad()
    for _ in range(2):
        scaler.scale(cross_entropy(model(torch.randn(4, 4)), torch.randint(3, (4,))) / 2).backward()
        {beside}
    {unscale}
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""
AUX = "(model(torch.randn(4, 4)).pow(2).mean() / 2)"
SCALERS = """\
class Scaler:
    def step(self, optimizer):
        for parameter in model.parameters():
            parameter.grad.data.div_(65536.0)
        if all(bool(torch.isfinite(one.grad).all()) for one in model.parameters()):
            optimizer.step()
scaler = Scaler()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for index in range(80):
    optimizer.zero_grad()
    (cross_entropy(model(torch.randn(4, 4)), torch.randint(3, (4,))) * 65536.0).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
"""
KEPT = """\
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for index in range(12):
    optimizer.zero_grad()
    loss = cross_entropy(model(torch.randn(4, 4)), torch.randint(3, (4,)))
    loss.backward()
    optimizer.step()
    losses.append({kept})
"""


def rules(found):
    return sorted({one.split(": ")[1] for one in told(found)})


def seen(found, begins):
    return next(one for one in found.report()["seen"] if one.startswith(begins))


def test_an_overflow_that_a_step_beside_the_scaler_applies_is_told(tmp_path):
    found = guarded(HEAD + BYPASS.format(overflow=100, test="True"), tmp_path, ignore=["collapsed-loss-scale"])
    (one,) = found.violations
    assert (one.code, one.severity) == ("step-bypasses-scaler", "error")


@pytest.mark.parametrize(("overflow", "test"), [(100, "bool(torch.isfinite(norm))"), (-1, "True")])
def test_a_step_beside_the_scaler_that_meets_no_overflow_is_said_to_be_unprotected(tmp_path, overflow, test):
    found = guarded(HEAD + BYPASS.format(overflow=overflow, test=test), tmp_path)
    assert rules(found) == []
    assert any(one.startswith("steps that are not taken by the scaler") for one in found.report()["not_covered"])


def test_two_optimizers_over_the_same_parameters_are_one_account(tmp_path):
    found = guarded(HEAD + PHASES.format(zero="finer.zero_grad()"), tmp_path)
    assert rules(found) == []
    assert seen(found, "Adam/LBFGS#1: 25 windows of 1 micro-step; weight 1.000")
    assert seen(found, "backward passes: 25 of Adam/LBFGS#1 (all stepped with)")


def test_two_optimizers_over_the_same_parameters_that_never_zero_them_are_told(tmp_path):
    source = PHASES.format(zero="pass").replace("    optimizer.zero_grad()\n", "")
    assert rules(guarded(HEAD + source, tmp_path)) == ["missing-zero-grad"]


@pytest.mark.parametrize(("divisor", "found"), [(2, []), (1, ["missing-loss-division"])])
def test_every_window_of_an_optimizer_that_lets_another_one_step_is_seen(tmp_path, divisor, found):
    run = guarded(HEAD + ZERO.format(divisor=divisor), tmp_path)
    assert rules(run) == found
    assert run.report()["windows"]["micro_steps"] == {"2": 12}


@pytest.mark.parametrize("window", [1, 4])
def test_steps_in_hooks_have_windows_of_their_own_and_their_weights_are_not_covered(tmp_path, window):
    found = guarded(HEAD + HOOKS.format(window=window), tmp_path)
    report = found.report()
    assert (rules(found), report["confirmed"]) == ([], [])
    assert report["windows"]["micro_steps"] == {str(window): 2 * 24 // window}
    assert [(one["passes"], one["stepped"]) for one in report["passes"]] == [(24, 24), (24, 24)]
    assert any("optimizers that step in hooks" in one for one in report["not_covered"])


@pytest.mark.parametrize(("divisor", "found"), [(2, []), (1, ["missing-loss-division"])])
def test_two_training_threads_are_measured_apart(tmp_path, divisor, found):
    run = guarded(HEAD + THREADS.format(divisor=divisor), tmp_path)
    assert rules(run) == found
    for number in (1, 2):
        assert seen(run, f"SGD#{number}: 60 windows of 2 micro-steps; weight {2 / divisor:.3f}; ")


def test_what_another_thread_fills_while_a_pass_runs_is_not_of_that_pass(tmp_path):
    run = guarded(HEAD + INSIDE_A_PASS, tmp_path)
    assert rules(run) == []
    assert seen(run, "backward passes: 4 of SGD#1 (all stepped with); 4 of SGD#2 (all stepped with)")
    assert seen(run, "SGD#2: 4 windows of 1 micro-step; weight 1.000; stepped with the gradient of that weight")


LOSSES = [
    (f"{AUX}.backward()", "scaler.unscale_(optimizer)", ["mixed-scaled-losses"]),
    (f"scaler.scale({AUX}).backward()", "scaler.unscale_(optimizer)", []),
    (f"scaler.scale({AUX}).backward()", "pass", ["clip-before-unscale"]),
]


@pytest.mark.parametrize(("beside", "unscale", "found"), LOSSES)
def test_an_unscaled_loss_beside_a_scaled_one_is_told_at_that_loss_alone(tmp_path, beside, unscale, found):
    run = guarded(HEAD + TWO_LOSSES.format(beside=beside, unscale=unscale), tmp_path, ignore=["accumulation"])
    assert rules(run) == found


def test_a_clip_of_gradients_whose_scale_is_not_known_is_not_confirmed(tmp_path):
    found = guarded(HEAD + SCALERS, tmp_path)
    assert "clipped" not in found.report()["seen"][0]
    assert found.report()["confirmed"] == []
    assert found.report()["not_covered"] != []


@pytest.mark.parametrize(("kept", "found"), [("loss", ["retained-graph"]), ("loss.item()", [])])
def test_losses_that_are_kept_with_their_graphs_are_told_within_a_few_steps(tmp_path, kept, found):
    assert rules(guarded(HEAD + KEPT.format(kept=kept), tmp_path)) == found


PROGRAMS = {
    "bypass": BYPASS.format(overflow=100, test="bool(torch.isfinite(norm))"),
    "phases": PHASES.format(zero="finer.zero_grad()"),
    "hooks": HOOKS.format(window=4),
    "threads": THREADS.format(divisor=2),
    "losses": TWO_LOSSES.format(beside=LOSSES[0][0], unscale=LOSSES[0][1]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_number_of_such_a_loop_changes(tmp_path, name):
    ends = 'torch.save([one.state_dict() for one in globals().get("models", [model])], os.environ["SAVED"])\n'
    source, saved = HEAD + PROGRAMS[name] + ends, []
    for under in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SAVED", str(tmp_path / f"{under}.pt"))
            if under:
                guarded(source, tmp_path)
            else:
                (tmp_path / "plain.py").write_text(source, encoding="utf-8")
                runpy.run_path(str(tmp_path / "plain.py"))
        saved.append(torch.load(tmp_path / f"{under}.pt"))
    plain, watched = saved
    assert len(plain) == len(watched) > 0
    for one, other in zip(plain, watched, strict=True):
        assert all(torch.equal(value, other[key]) for key, value in one.items())
