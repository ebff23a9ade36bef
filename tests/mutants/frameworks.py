"""Legal windows over frameworks that the user's own loop calls."""

from tests.mutants.framework import Framework

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
