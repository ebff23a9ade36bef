"""Every check that needs a GPU: `pytest -m gpu`. Skipped where there is none.

Right training steps must be silent and wrong ones found with CUDA AMP; the guard must not make the host wait for the
device, launch no kernel that is not sampled, and leave every number as it is. What it costs is measured by
`python benchmarks/overhead.py --device cuda --size 100m`.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections import Counter

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 -- torch may be missing

from runtime_guard.guarding import guard  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
    pytest.mark.filterwarnings("default"),  # torch's and the driver's own
]
DEVICE = "cuda"
GUARDS = {
    "off": contextlib.nullcontext,
    "events": lambda: guard(mode="record", probe_every=0),
    "probes": lambda: guard(mode="record", probe_every=1),
}
WAITING = {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize"}


class Step:
    """A window of CUDA AMP on a small model with dropout; `fused` optimizers look at overflows on the device."""

    def __init__(self, make=torch.optim.AdamW, *, unscale=True, accumulation=2, **options):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 8)).to(DEVICE)
        self.optimizer = make(self.model.parameters(), lr=1e-3, **options)
        self.scaler = torch.amp.GradScaler(DEVICE, init_scale=1024.0)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda update: 0.9**update)
        self.inputs = torch.randn(16, 32, device=DEVICE)
        self.targets = torch.randint(8, (16,), device=DEVICE)
        self.unscale, self.accumulation = unscale, accumulation

    def window(self):
        for _ in range(self.accumulation):
            with torch.autocast(DEVICE, dtype=torch.float16):
                loss = nn.functional.cross_entropy(self.model(self.inputs), self.targets) / self.accumulation
            self.scaler.scale(loss).backward()
        if self.unscale:
            self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()
        self.optimizer.zero_grad()

    def state(self):
        """A hash of parameters, optimizer state and scale."""
        digest = hashlib.sha256()
        for value in self.model.state_dict().values():
            digest.update(value.cpu().numpy().tobytes())
        for held in self.optimizer.state_dict()["state"].values():
            for name in sorted(held):
                digest.update(torch.as_tensor(held[name]).cpu().numpy().tobytes())
        digest.update(repr(self.scaler.get_scale()).encode())
        return digest.hexdigest()


OPTIMIZERS = {
    "for-loop": {"foreach": False},
    "foreach": {"foreach": True},
    "fused": {"fused": True},
    "capturable": {"capturable": True},
}


@pytest.mark.parametrize("options", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_right_step_is_silent(options):
    step = Step(**options)
    with guard(mode="raise") as listening:
        for _ in range(4):
            step.window()
    assert listening.violations == []


@pytest.mark.parametrize("options", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_clip_of_scaled_gradients_is_found(options):
    step = Step(unscale=False, **options)
    with guard(mode="record") as listening:
        for _ in range(4):
            step.window()
    assert [one.code for one in listening.violations] == ["clip-before-unscale"]


@pytest.mark.parametrize("name", GUARDS)
def test_nothing_makes_the_host_wait(name):
    """A fused optimizer needs no wait for the scaler's own check; with the guard that stays so."""
    step = Step(fused=True)
    step.window()
    with GUARDS[name]() as listening:
        step.window()
        torch.cuda.set_sync_debug_mode("error")
        try:
            for _ in range(300):
                step.window()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert (
        listening is None or listening.report()["off"] == []
    )  # an error inside of the guard switches a part of it off


def calls(name, options, windows=4):
    """How often the host waited, and how many kernels were launched, during a few windows."""
    step = Step(**options)
    step.window()
    with GUARDS[name]():
        step.window()
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profile:
            for _ in range(windows):
                step.window()
    names = Counter(event.name for event in profile.events())
    return sum(names[one] for one in WAITING), names["cudaLaunchKernel"] + names["cuLaunchKernel"]


@pytest.mark.parametrize("options", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_the_profiler_counts_no_added_wait_and_no_added_kernel(options):
    off = calls("off", options)
    assert calls("events", options) == off
    waits, _ = calls("probes", options)
    assert waits == off[0]


@pytest.mark.parametrize("options", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_numbers_are_the_same_bit_for_bit(options):
    hashes = {}
    for name, make in GUARDS.items():
        step = Step(**options)
        with make():
            for _ in range(5):
                step.window()
        hashes[name] = step.state()
    assert len(set(hashes.values())) == 1


@pytest.mark.parametrize("options", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_skipped_step_is_counted_also_where_only_the_device_knows(options):
    step = Step(**options)
    with guard(mode="record") as listening:
        step.window()
        step.inputs[0, 0] = float("inf")
        step.window()
        step.inputs[0, 0] = 0.0
        step.window()
    report = listening.report()
    assert [scaler["skipped"] for scaler in report["scalers"]] == [1]


@pytest.mark.parametrize("options", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_skipped_steps_of_a_steady_loop_are_counted(options):
    step = Step(**options)
    with guard(mode="record") as listening:
        for window in range(300):
            step.inputs[0, 0] = float("inf") if window in (150, 220) else 0.0
            step.window()
    report = listening.report()
    assert [(scaler["steps"], scaler["skipped"]) for scaler in report["scalers"]] == [(300, 2)]
    assert report["windows"]["micro_steps"] == {"2": 300}
    assert report["off"] == []


def test_the_weight_of_a_loss_on_the_device_is_confirmed():
    step = Step(accumulation=4)
    with guard(mode="record") as listening:
        for _ in range(3):
            step.window()
    assert listening.report()["windows"]["effective_lr_multiplier"] == pytest.approx(1.0, rel=1e-3)


def test_a_replayed_graph_is_said_to_be_invisible():
    model = nn.Linear(8, 2).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, capturable=True)
    inputs = torch.randn(4, 8, device=DEVICE)

    def train():
        optimizer.zero_grad(set_to_none=False)
        model(inputs).pow(2).mean().backward()
        optimizer.step()

    with guard(mode="record") as listening:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                train()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            train()
        for _ in range(3):
            graph.replay()
    report = listening.report()
    assert any("graph" in str(one).lower() for one in report["not_covered"])
    assert report["violations"] == []
