"""Every slip in a legal window over a framework is found by a rule, or listed here with the reason.

A line is dropped, doubled, moved out of its gate, or written with torch's own call instead of the framework's.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import pytest

from amplint.analysis import findings_of


@dataclass(frozen=True)
class Framework:
    """A legal window: what stands before the loop, the lines of a micro-step, those of them that are gated, and how."""

    head: str
    lines: dict[str, str]
    gate: str = ""
    gated: tuple[str, ...] = ()
    raw: dict[str, str] = field(default_factory=dict)
    loop: str = "    for i, (x, y) in enumerate(loader):"
    around: str = ""
    after: str = ""

    def program(self, lines: list[tuple[str, str]], gate: bool = True) -> str:
        """The program with some lines, gated or not."""
        inside = 8 if not self.around else 12
        rows = [self.head.rstrip(), self.loop, *([" " * 8 + self.around] if self.around else [])]
        for name, text in lines:
            gated = name in self.gated and gate
            rows += [" " * inside + self.gate] if gated else []
            rows.append(" " * (inside + 4 * gated) + text)
        return "\n".join([*rows, self.after]) + "\n"

    def mutants(self) -> Iterator[tuple[str, str]]:
        """Every program that one slip makes, with the slip's name."""
        legal = list(self.lines.items())
        for at, (name, _) in enumerate(legal[1:], 1):  # the forward is torch's
            yield f"drop {name}", self.program(legal[:at] + legal[at + 1 :])
            yield f"double {name}", self.program(legal[: at + 1] + legal[at:])
            if name in self.raw:
                yield f"raw {name}", self.program([*legal[:at], (name, self.raw[name]), *legal[at + 1 :]])
        if self.gated:
            yield "ungated", self.program(legal, gate=False)


CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
WINDOW = "if (i + 1) % accum == 0:"
FRAMEWORKS = {
    "accelerate": Framework(
        """\
import torch
from accelerate import Accelerator


def train(accum, model, loader, criterion):
    accelerator = Accelerator(gradient_accumulation_steps=accum, mixed_precision="fp16")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
""",
        {
            "forward": "loss = criterion(model(x), y)",
            "backward": "accelerator.backward(loss)",
            "clip": "accelerator.clip_grad_norm_(model.parameters(), 1.0)",
            "step": "optimizer.step()",
            "zero": "optimizer.zero_grad()",
        },
        "if accelerator.sync_gradients:",
        ("clip",),
        {"backward": "loss.backward()", "clip": CLIP},
        around="with accelerator.accumulate(model):",
    ),
    "deepspeed": Framework(
        """\
import deepspeed
import torch


def train(model, loader, criterion):
    config = {"train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 4, "fp16": {"enabled": True}}
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
""",
        {
            "forward": "loss = criterion(engine(x), y)",
            "backward": "engine.backward(loss)",
            "step": "engine.step()",
        },
        raw={"backward": "loss.backward()"},
    ),
    "fabric": Framework(
        """\
import torch
from lightning.fabric import Fabric


def train(accum, model, loader, criterion):
    fabric = Fabric(precision="16-mixed")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = fabric.setup(model, optimizer)
    assert len(loader) % accum == 0
""",
        {
            "forward": "loss = criterion(model(x), y)",
            "divide": "loss = loss / accum",
            "backward": "fabric.backward(loss)",
            "clip": "fabric.clip_gradients(model, optimizer, max_norm=1.0)",
            "step": "optimizer.step()",
            "zero": "optimizer.zero_grad()",
        },
        WINDOW,
        ("clip", "step", "zero"),
        {"backward": "loss.backward()", "clip": CLIP},
    ),
    "ignite": Framework(
        """\
import torch
from ignite.engine import Engine


def train(accum, model, loader, criterion):
    scaler = torch.amp.GradScaler("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    assert len(loader) % accum == 0
""",
        {
            "forward": "loss = criterion(model(batch[0]), batch[1])",
            "divide": "loss = loss / accum",
            "scaled backward": "scaler.scale(loss).backward()",
            "unscale": "scaler.unscale_(optimizer)",
            "clip": CLIP,
            "step": "scaler.step(optimizer)",
            "update": "scaler.update()",
            "zero": "optimizer.zero_grad()",
        },
        "if engine.state.iteration % accum == 0:",
        ("unscale", "clip", "step", "update", "zero"),
        {"scaled backward": "loss.backward()"},
        loop="    def update(engine, batch):",
        after="    Engine(update).run(loader, max_epochs=2)",
    ),
    "mmengine": Framework(
        """\
import torch
from mmengine.optim import AmpOptimWrapper


def train(model, loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    wrapper = AmpOptimWrapper(optimizer=optimizer, accumulative_counts=4)
""",
        {"forward": "loss = criterion(model(x), y)", "update": "wrapper.update_params(loss)"},
        raw={"update": "loss.backward()"},
    ),
    "apex": Framework(
        """\
import torch
from apex import amp


def train(accum, model, loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
    assert len(loader) % accum == 0
""",
        {
            "forward": "loss = criterion(model(x), y)",
            "divide": "loss = loss / accum",
            "backward": "with amp.scale_loss(loss, optimizer) as scaled: scaled.backward()",
            "clip": "torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)",
            "step": "optimizer.step()",
            "zero": "optimizer.zero_grad()",
        },
        WINDOW,
        ("clip", "step", "zero"),
        {"backward": "loss.backward()"},
    ),
    "fp16 optimizer": Framework(
        """\
import torch
from apex.fp16_utils import FP16_Optimizer


def train(accum, model, loader, criterion):
    optimizer = FP16_Optimizer(torch.optim.SGD(model.parameters(), lr=0.1), dynamic_loss_scale=True)
    assert len(loader) % accum == 0
""",
        {
            "forward": "loss = criterion(model(x), y)",
            "divide": "loss = loss / accum",
            "backward": "optimizer.backward(loss)",
            "clip": "optimizer.clip_master_grads(1.0)",
            "step": "optimizer.step()",
            "zero": "optimizer.zero_grad()",
        },
        WINDOW,
        ("clip", "step", "zero"),
        {"backward": "loss.backward()", "clip": CLIP},
    ),
    "lightning, manual": Framework(
        """\
import torch
from lightning import LightningModule


class Net(LightningModule):
    def __init__(self, net, accum, criterion):
        super().__init__()
        self.automatic_optimization = False
        self.net, self.accum, self.criterion = net, accum, criterion

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
""",
        {
            "forward": "optimizer, loss = self.optimizers(), self.criterion(self.net(batch[0]), batch[1])",
            "divide": "loss = loss / self.accum",
            "backward": "self.manual_backward(loss)",
            "step": "optimizer.step()",
            "zero": "optimizer.zero_grad()",
        },
        "if (i + 1) % self.accum == 0:",
        ("step", "zero"),
        {"backward": "loss.backward()"},
        loop="    def training_step(self, batch, i):",
    ),
    "lightning, automatic": Framework(
        """\
import torch
from lightning import LightningModule


class Net(LightningModule):
    def __init__(self, net, criterion):
        super().__init__()
        self.net, self.criterion = net, criterion

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
""",
        {"forward": "loss = self.criterion(self.net(batch[0]), batch[1])", "return": "return loss"},
        raw={"return": "return loss / self.trainer.accumulate_grad_batches"},
        loop="    def training_step(self, batch, i):",
    ),
    "transformers": Framework(
        """\
import torch
from torch.nn.functional import cross_entropy
from transformers import Trainer


class Mine(Trainer):
""",
        {
            "forward": "loss = cross_entropy(model(inputs['x']), inputs['labels'], reduction='sum')",
            "divide": "loss = loss / num_items_in_batch",
        },
        raw={"divide": "loss = loss / inputs['labels'].numel()"},
        loop="    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):",
        after="        return loss",
    ),
    "timm": Framework(
        """\
import torch
from timm.utils import NativeScaler


def train(accum, model, loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = NativeScaler()
    assert len(loader) % accum == 0
""",
        {
            "forward": "loss = criterion(model(x), y)",
            "divide": "loss = loss / accum",
            "call": "scaler(loss, optimizer, 1.0, parameters=model.parameters(), need_update=(i + 1) % accum == 0)",
            "zero": "optimizer.zero_grad()",
        },
        WINDOW,
        ("zero",),
        {"call": "scaler(loss, optimizer, 1.0, parameters=model.parameters())"},
    ),
    "sums over all tokens": Framework(
        """\
import torch
from torch.nn.functional import cross_entropy


def train(accum, model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    assert len(loader) % accum == 0
""",
        {
            "forward": "loss = cross_entropy(model(x), y, reduction='sum', ignore_index=-100)",
            "divide": "loss = loss / tokens_of_the_window",
            "backward": "loss.backward()",
            "step": "optimizer.step()",
            "zero": "optimizer.zero_grad()",
        },
        WINDOW,
        ("step", "zero"),
        {"divide": "loss = loss / (y != -100).sum()"},
        loop="    for i, (x, y, tokens_of_the_window) in enumerate(loader):",
    ),
}
NO_STEP = "no training step is left: whoever else back-propagates is not in sight"
NO_UPDATE = "what a framework holds may be stepped out of sight"
TWICE = "torch raises: the graph of the loss is gone after the first backward"
SAME = "what is within the threshold is clipped to itself"
SILENT = {
    "drop clip": "a window without a clip is legal",
    "double zero": "what is zero is zeroed",
    "drop backward": NO_STEP,
    "drop step": NO_UPDATE,
}
FOUND = {"sums over all tokens: drop step"}  # though others are listed
OF_A_FRAMEWORK = {
    "accelerate: double backward": TWICE,
    "deepspeed: double backward": TWICE,
    "deepspeed: double step": "not yet: the engine counts twice as many micro-steps, and steps on half a window",
    "fabric: double backward": TWICE,
    "fp16 optimizer: double backward": TWICE,
    "fp16 optimizer: double clip": SAME,
    "apex: double clip": SAME,
    "apex: raw backward": "not yet: amp is mostly initialized under a flag, and the other branch is torch alone",
    "ignite: double scaled backward": TWICE,
    "ignite: double clip": SAME,
    "ignite: double update": "torch raises: no inf checks were recorded since the first one",
    "lightning, manual: double backward": TWICE,
    "lightning, automatic: drop return": "Lightning leaves the batch out, and says so",
    "lightning, automatic: double return": "the second one is not reached",
    "transformers: double divide": "not yet: how often the count divides is not asked",
    "timm: drop call": NO_STEP,
    "sums over all tokens: drop divide": "a sum may be meant, with a learning rate to match",
    "sums over all tokens: double divide": "what a sum is due is not known where its counts come with the batch",
    "sums over all tokens: raw divide": "nothing says that the counts differ: only a run shows mean-of-token-means",
    "sums over all tokens: double backward": TWICE,
    "sums over all tokens: ungated": "nothing is left that says of a window",
    "mmengine: double update": TWICE,
    "mmengine: drop update": NO_STEP,
    "mmengine: raw update": NO_UPDATE,
}
ALL = [
    pytest.param(name, slip, text, id=f"{name}: {slip}")
    for name, framework in FRAMEWORKS.items()
    for slip, text in framework.mutants()
]


@cache
def found(text: str) -> frozenset[str]:
    return frozenset(finding.code for finding in findings_of(text, "window.py"))


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_nothing_is_said_of_a_legal_window(name):
    framework = FRAMEWORKS[name]
    assert found(framework.program(list(framework.lines.items()))) == frozenset()


@pytest.mark.parametrize(("name", "slip", "text"), ALL)
def test_a_slip_is_found_or_listed(name, slip, text):
    spelled = f"{name}: {slip}"
    listed = (slip in SILENT and spelled not in FOUND) or spelled in OF_A_FRAMEWORK
    assert bool(found(text)) is not listed


def test_the_lists_name_slips_that_exist():
    made = {spelled for name, slip, _ in (one.values for one in ALL) for spelled in (slip, f"{name}: {slip}")}
    assert set(SILENT) | set(OF_A_FRAMEWORK) | FOUND <= made
