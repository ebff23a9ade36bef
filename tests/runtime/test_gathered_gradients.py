"""What is stepped as a copy, or gathered before it is stepped: who does so, and in which calls, as DeepSpeed 0.19.8 and
Megatron-Core 0.16.1 do.

The stand-ins have what is read of `deepspeed/runtime/engine.py`, `fp16/unfused_optimizer.py`, `zero/stage_1_and_2.py`,
and of `megatron/core/pipeline_parallel/schedules.py`, `distributed/distributed_data_parallel.py`,
`optimizer/optimizer.py`; the programs run as with the real ones.
"""

from __future__ import annotations

import json

import pytest

from tests.runtime.forked import run_module

DEEPSPEED = """
import torch


class ZeROOptimizer:
    pass


class FP16_UnfusedOptimizer:
    def __init__(self, optimizer, config):
        self.optimizer, self.cur_scale = optimizer, config["scale"]
        self.fp16_groups = [group["params"] for group in optimizer.param_groups]
        self.fp32_groups = [[p.clone().float().detach().requires_grad_() for p in group] for group in self.fp16_groups]
        for group, masters in zip(optimizer.param_groups, self.fp32_groups):
            group["params"] = masters
        for group in (*self.fp16_groups, *self.fp32_groups):
            for p in group:
                p.grad = torch.zeros_like(p)
        self.optimizer.step()
        for group in (*self.fp16_groups, *self.fp32_groups):
            for p in group:
                p.grad = None

    def zero_grad(self):
        for group in self.fp16_groups:
            for p in group:
                p.grad = None

    def step(self):
        for masters, group in zip(self.fp32_groups, self.fp16_groups):
            for master, p in zip(masters, group):
                master.grad = p.grad.to(master.dtype)
                master.grad.data.mul_(1.0 / self.cur_scale)
        self.optimizer.step()
        for masters, group in zip(self.fp32_groups, self.fp16_groups):
            for master, p in zip(masters, group):
                master.grad = None
                p.data.copy_(master.data)


class DeepSpeedZeroOptimizer(ZeROOptimizer):
    def __init__(self, optimizer, config):
        self.optimizer, self.loss_scale = optimizer, config["scale"]
        self.bit16_groups = [group["params"] for group in optimizer.param_groups]
        self.flat = [torch.cat([p.detach().reshape(-1) for p in group]).float() for group in self.bit16_groups]
        self.averaged = None
        for group, flat in zip(optimizer.param_groups, self.flat):
            group["params"] = [flat.requires_grad_()]

    def scale_if_loss(self, loss):
        return loss.float() * self.loss_scale

    def reduce_gradients(self):
        self.averaged = [torch.cat([p.grad.reshape(-1) for p in group]) for group in self.bit16_groups]
        self.zero_grad()

    def zero_grad(self):
        for group in self.bit16_groups:
            for p in group:
                p.grad = None

    def step(self):
        groups = self.optimizer.param_groups
        for number, flat in enumerate(self.flat):
            flat.grad = self.averaged[number].float() / self.loss_scale
            self.optimizer.param_groups = [groups[number]]
            self.optimizer.step()
            self.optimizer.param_groups = groups
            flat.grad = None
            group = self.bit16_groups[number]
            torch.nn.utils.vector_to_parameters(flat.detach().to(group[0]), group)
        self.averaged = None


class DeepSpeedEngine:
    def __init__(self, model, optimizer, config):
        self.module, self.optimizer, self.config, self.micro_steps = model, optimizer, config, 0
        self._support_torch_style_backward = isinstance(optimizer, ZeROOptimizer)
        self._running_engine_backward = False

    def __call__(self, x):
        output = self.module(x)
        output.register_hook(self._backward_prologue_per_tensor)
        return output

    def _backward_prologue_per_tensor(self, grad):
        return grad if self._running_engine_backward else grad / self.gradient_accumulation_steps()

    def gradient_accumulation_steps(self):
        return self.config["gradient_accumulation_steps"]

    def managed_gradient_accumulation(self):
        return True

    _is_gradient_accumulation_boundary = None

    def is_gradient_accumulation_boundary(self):
        return (self.micro_steps + 1) % self.gradient_accumulation_steps() == 0

    def backward(self, loss):
        self._running_engine_backward = True
        loss = loss / self.gradient_accumulation_steps()
        if isinstance(self.optimizer, ZeROOptimizer):
            if self.micro_steps % self.gradient_accumulation_steps() == 0:
                self.optimizer.zero_grad()
            loss = self.optimizer.scale_if_loss(loss)
        loss.backward()
        self._running_engine_backward = False
        if isinstance(self.optimizer, ZeROOptimizer) and self.is_gradient_accumulation_boundary():
            self.optimizer.reduce_gradients()

    def _take_model_step(self):
        self.optimizer.step()
        self.optimizer.zero_grad()

    def step(self):
        if self.is_gradient_accumulation_boundary():
            if isinstance(self.optimizer, ZeROOptimizer) and self.optimizer.averaged is None:
                self.optimizer.reduce_gradients()
            self._take_model_step()
        self.micro_steps += 1


def initialize(model, optimizer, config):
    wrapper = DeepSpeedZeroOptimizer if config["stage"] else FP16_UnfusedOptimizer
    engine = DeepSpeedEngine(model, wrapper(optimizer, config), config)
    return engine, engine.optimizer, None, None
"""
TRAINING = """
import deepspeed
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)).to(DTYPE)
groups = [{"params": [p for p in model.parameters() if (p.ndim > 1) is matrix]} for matrix in (True, False)]
optimizer = torch.optim.AdamW(groups, lr=1e-2)
config = {"gradient_accumulation_steps": 4, "stage": STAGE, "scale": SCALE}
engine, optimizer, _, _ = deepspeed.initialize(model, optimizer, config)
for step in range(32):
    x, y = torch.randn(4, 8).to(DTYPE), torch.randint(0, 3, (4,))
    loss = torch.nn.functional.cross_entropy(engine(x).float(), y)
    engine.backward(loss)
    engine.step()
torch.save(list(model.parameters()), "OUT")
"""
MEGATRON = """
import torch


class DistributedDataParallel(torch.nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        for p in module.parameters():
            p.main_grad = torch.zeros_like(p, dtype=torch.float32)
            p.register_post_accumulate_grad_hook(self.hook)

    def hook(self, p):
        p.main_grad.add_(p.grad.data)
        p.grad = None

    def forward(self, x):
        return self.module(x)

    def zero_grad_buffer(self):
        for p in self.module.parameters():
            p.main_grad.zero_()


class MegatronOptimizer:
    def __init__(self, optimizer, copies, scale):
        self.optimizer, self.scale = optimizer, torch.tensor([scale])
        self.params = optimizer.param_groups[0]["params"]
        self.main = [p.detach().clone().float().requires_grad_() for p in self.params] if copies else self.params
        optimizer.param_groups[0]["params"] = self.main

    def scale_loss(self, loss):
        return self.scale * loss if self.scale != 1 else loss

    def zero_grad(self):
        for p in (*self.params, *self.main):
            p.grad = None

    def step(self):
        for p, main in zip(self.params, self.main):
            main.grad = p.main_grad.clone() / self.scale if self.main is not self.params else p.main_grad
        self.optimizer.step()
        for p, main in zip(self.params, self.main):
            p.data.copy_(main.data)
        return True, None, None


def backward_step(optimizer, loss):
    optimizer.scale_loss(loss).backward()


def forward_backward_no_pipelining(forward_step_func, data_iterator, model, num_microbatches, optimizer):
    for _ in range(num_microbatches):
        output, loss_func = forward_step_func(data_iterator, model)
        backward_step(optimizer, loss_func(output) / num_microbatches)
"""
SCHEDULED = """
import torch
from megatron.core import DistributedDataParallel, MegatronOptimizer, forward_backward_no_pipelining

torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)))
optimizer = MegatronOptimizer(torch.optim.AdamW(model.parameters(), lr=1e-2), COPIES, SCALE)


def batches():
    while True:
        yield torch.randn(4, 8), torch.randint(0, 3, (4,))


def forward_step(iterator, model):
    x, y = next(iterator)
    return model(x), lambda output: torch.nn.functional.cross_entropy(output, y)


data = batches()
for step in range(8):
    model.zero_grad_buffer()
    optimizer.zero_grad()
    forward_backward_no_pipelining(forward_step, data, model, 4, optimizer)
    optimizer.step()
torch.save(list(model.parameters()), "OUT")
"""


@pytest.fixture
def reported(tmp_path):
    """The report of a program that is run with a stand-in; its parameters are those of a run without the guard."""
    sources = {"deepspeed/runtime/engine.py": DEEPSPEED, "megatron/core.py": MEGATRON}
    for name, source in sources.items():
        path = tmp_path / "site-packages" / name
        path.parent.mkdir(parents=True)
        path.write_text(source)
    (tmp_path / "site-packages" / "deepspeed" / "__init__.py").write_text(
        "from deepspeed.runtime.engine import initialize\n"
    )

    def run(source: str) -> dict:
        for out, *command in (["plain.pt", "train"], ["guarded.pt", "runtime_guard", "--report", "report.json"]):
            (tmp_path / "train.py").write_text(source.replace("OUT", out))
            module, *options = command
            done = run_module(module, [*options, "train.py"], tmp_path, paths=[tmp_path / "site-packages"])
            assert done.status == 0, done.stderr
        assert _values(tmp_path / "plain.pt") == _values(tmp_path / "guarded.pt")
        return json.loads((tmp_path / "report.json").read_text())

    return run


def _values(path):
    torch = pytest.importorskip("torch")
    return [one.tolist() for one in torch.load(path, weights_only=True)]


def with_deepspeed(stage: int, dtype: str = "torch.bfloat16", scale: float = 1.0) -> str:
    return TRAINING.replace("STAGE", str(stage)).replace("DTYPE", dtype).replace("SCALE", str(scale))


def with_megatron(copies: bool, scale: float = 1.0) -> str:
    return SCHEDULED.replace("COPIES", str(copies)).replace("SCALE", str(scale))


def found(report, source):
    rows = source.splitlines()
    return [(one["code"], rows[one["site"]["line"] - 1].strip()) for one in report["violations"]]


def weights(report):
    return {witness: figure and figure["last"] for witness, figure in report["optimizers"][0]["weight_sum"].items()}


def right(report):
    assert report["violations"] == []
    assert report["windows"]["micro_steps"] == {"4": 8}
    assert weights(report) == dict.fromkeys(("graph", "arithmetic", "ledger"), pytest.approx(1.0, rel=1e-2))
    assert report["not_covered"] == []


@pytest.mark.parametrize(
    "program",
    [
        with_deepspeed(0),
        with_deepspeed(1),
        with_deepspeed(1, "torch.float16", 256.0),
        with_megatron(False),
        with_megatron(True),
        with_megatron(True, 4096.0),
    ],
)
def test_what_a_right_program_steps_is_measured(reported, program):
    right(reported(program))


def test_gradients_that_are_divided_by_a_scale_they_never_had_are_told(reported):
    source = with_deepspeed(0, "torch.float16", 256.0)
    report = reported(source)
    assert weights(report) == {
        "graph": pytest.approx(1.0),
        "arithmetic": pytest.approx(1.0),
        "ledger": pytest.approx(1 / 256, rel=1e-2),
    }
    assert "stepped with 0.00391 times the gradient of the equivalent batch" in report["seen"][0]
    assert found(report, source) == [("float16-without-scaler", "engine.backward(loss)")]
    assert "zero_optimization.stage" in report["violations"][0]["advice"]


@pytest.mark.parametrize("scale", [1.0, 256.0])
def test_a_division_by_hand_before_a_scale_is_told_twice(reported, scale):
    source = with_deepspeed(1, "torch.float16" if scale > 1 else "torch.bfloat16", scale)
    source = source.replace("engine.backward(loss)", "engine.backward(loss / 4)")
    report = reported(source)
    assert found(report, source) == [("double-loss-division", "engine.backward(loss / 4)")]
    assert weights(report)["ledger"] == pytest.approx(0.25, rel=1e-2)


def test_what_is_zeroed_before_it_is_gathered_is_told(reported):
    source = with_deepspeed(1).replace("    engine.step()\n", "    engine.step()\n    optimizer.zero_grad()\n")
    report = reported(source)
    assert [code for code, _ in found(report, source)] == ["zero-grad-per-micro-step"]
    assert report["windows"]["micro_steps"] == {"1": 8}
    assert weights(report)["ledger"] == pytest.approx(0.25, rel=1e-2)


def test_a_backward_of_torch_is_as_good_where_the_outputs_divide(reported):
    source = with_deepspeed(1).replace("engine.backward(loss)", "loss.backward()")
    right(reported(source))
    divided = source.replace("loss.backward()", "(loss / 4).backward()")
    report = reported(divided)
    assert found(report, divided) == [("double-loss-division", "(loss / 4).backward()")]
    assert weights(report)["ledger"] == pytest.approx(0.25, rel=1e-2)


@pytest.mark.parametrize("copies", [False, True])
def test_a_loss_that_a_schedule_divides_is_divided_twice(reported, copies):
    source = with_megatron(copies).replace("(output, y)", "(output, y) / 4")
    report = reported(source)
    assert [code for code, _ in found(report, source)] == ["double-loss-division"]
    assert weights(report)["graph"] == pytest.approx(0.25)


def test_a_clip_of_gradients_that_are_elsewhere_does_not_precede_them(reported):
    clip = "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()\n"
    source = with_megatron(False).replace("    optimizer.step()\n", clip)
    report = reported(source)
    assert [code for code, _ in found(report, source)] == ["bypassed-framework-clip"]
    assert report["windows"]["micro_steps"] == {"4": 8}


@pytest.mark.parametrize("stage", [0, 1])
def test_a_clip_of_partial_sums_erases_nothing(reported, stage):
    clip = "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)\n    engine.step()\n"
    source = with_deepspeed(stage, "torch.float32").replace("    engine.step()\n", clip).replace("AdamW", "SGD")
    report = reported(source)
    assert [code for code, _ in found(report, source)] == ["bypassed-framework-clip"][: stage or 1]
    assert ("the earlier micro-steps alone" in report["violations"][0]["message"]) == bool(stage)
    assert report["windows"]["micro_steps"] == {"4": 8}
    assert weights(report)["ledger"] < 0.5


def test_a_clip_that_has_met_nothing_shortens_nothing(reported):
    gathered = with_megatron(False).replace("(output, y)", "(clipped(output), y)").replace(
        "def forward_step(", "def clipped(output):\n    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
        "    return output\n\n\ndef forward_step("
    )  # fmt: skip
    report = reported(gathered)
    assert report["windows"]["micro_steps"] == {"4": 8}
    assert "clip-per-micro-step" not in {code for code, _ in found(report, gathered)}


def test_gradients_that_are_never_zeroed_are_in_windows_as_long_as_they_are(reported):
    source = with_megatron(False).replace("    model.zero_grad_buffer()\n    optimizer.zero_grad()\n", "")
    report = reported(source)
    assert [code for code, _ in found(report, source)] == ["missing-zero-grad"]
    assert report["windows"]["micro_steps"] == {"4": 8}


def test_a_window_of_which_part_was_zeroed_has_the_rest(reported):
    step = "    if step % 2:\n        optimizer.step()\n"
    source = with_megatron(False).replace("    optimizer.step()\n", step).replace("range(8)", "range(10)")
    source = source.replace("(4, 8)", "(5, 8)").replace("(4,)", "(5,)")
    report = reported(source)
    assert [code for code, _ in found(report, source)] == ["zero-grad-before-step"]
    assert report["windows"]["micro_steps"]["4"] == 4
    assert weights(report)["ledger"] == pytest.approx(1.0, rel=1e-2)


@pytest.mark.parametrize("copies", [False, True])
def test_windows_that_a_schedule_divides_apart_are_told_where_they_are_stepped_together(reported, copies):
    source = with_megatron(copies).replace("    model.zero", "    if step % 2 == 0:\n        model.zero")
    source = source.replace("    optimizer.zero", "    if step % 2 == 0:\n        optimizer.zero")
    source = source.replace("    optimizer.step()", "    if (step + 1) % 2 == 0:\n        optimizer.step()")
    report = reported(source)
    assert found(report, source) == [("gated-framework-step", "optimizer.step()")]
    assert "windows of 4 micro-steps, each divided by 4: stepped once in 2" in report["violations"][0]["message"]
    assert report["windows"]["micro_steps"] == {"8": 4}
    assert weights(report)["ledger"] == pytest.approx(2.0, rel=1e-2)


def test_the_first_window_of_gradients_that_are_taken_away_is_measured(reported):
    report = reported(with_megatron(False))
    assert report["optimizers"][0]["weight_sum"]["ledger"]["count"] == 4


def test_a_step_that_is_gated_by_hand_counts_what_was_overwritten(reported):
    source = with_deepspeed(1).replace("    engine.step()\n", "    if (step + 1) % 4 == 0:\n        engine.step()\n")
    report = reported(source)
    assert [code for code, _ in found(report, source)] == ["gated-framework-step"]


def test_of_copies_of_what_is_never_zeroed_nothing_is_confirmed(reported):
    source = with_megatron(True).replace("    model.zero_grad_buffer()\n", "")
    report = reported(source)
    assert "weight 1.000 in 1 of them" in report["seen"][0]
    assert any("no sum of the gradients of its window" in one for one in report["not_covered"])
