"""Loops that hold the synchronisation back inside of a window, in every way that it is written."""

import re
from textwrap import indent
from typing import NamedTuple

_DDP = "from torch.nn.parallel import DistributedDataParallel\n"
_MODEL = "model = torch.nn.Linear(4, 1)\n"
_OPTIMIZER = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
_ON_RANKS = "model = DistributedDataParallel(torch.nn.Linear(4, 1))\n" + _OPTIMIZER
_STEP = "optimizer.step()\noptimizer.zero_grad()\n"
_BOTH = "from contextlib import nullcontext\n"


class Way(NamedTuple):
    """How a loop holds back: what it imports, the objects that it makes, and a micro-batch up to its backward."""

    imports: str
    objects: str
    body: str
    holder: str = ""
    """The object that a function per epoch is handed beside model and optimizer."""


WAYS = {
    "one process": Way("", _MODEL + _OPTIMIZER, "{loss}loss.backward()\n"),
    "two branches": Way(_DDP, _ON_RANKS, ""),
    "conditional expression": Way(
        _DDP + _BOTH,
        _ON_RANKS,
        "with nullcontext() if boundary else model.no_sync():\n    {loss}    loss.backward()\n",
    ),
    "context in a variable": Way(
        _DDP + _BOTH,
        _ON_RANKS,
        "context = model.no_sync if not boundary else nullcontext\nwith context():\n    {loss}    loss.backward()\n",
    ),
    "exit stack": Way(
        _DDP + "from contextlib import ExitStack\n",
        _ON_RANKS,
        "with ExitStack() as stack:\n    if not boundary:\n        stack.enter_context(model.no_sync())\n"
        "    {loss}    loss.backward()\n",
    ),
    "flag of the module": Way(_DDP, _ON_RANKS, "model.require_backward_grad_sync = boundary\n{loss}loss.backward()\n"),
    "fully_shard": Way(
        "from torch.distributed.fsdp import fully_shard\n",
        "model = fully_shard(torch.nn.Linear(4, 1))\n" + _OPTIMIZER,
        "model.set_requires_gradient_sync(boundary)\n{loss}loss.backward()\n",
    ),
    "Fabric": Way(
        "from lightning.fabric import Fabric\n",
        f"fabric = Fabric()\n{_MODEL}{_OPTIMIZER}model, optimizer = fabric.setup(model, optimizer)\n"
        "loader = fabric.setup_dataloaders(loader)\n",
        "with fabric.no_backward_sync(model, enabled=not boundary):\n    {loss}    fabric.backward(loss)\n",
        "fabric",
    ),
    "Accelerate": Way(
        "from accelerate import Accelerator\n" + _BOTH,
        f"accelerator = Accelerator()\n{_MODEL}{_OPTIMIZER}"
        "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)\n",
        "with nullcontext() if boundary else accelerator.no_sync(model):\n    {loss}    accelerator.backward(loss)\n",
        "accelerator",
    ),
}

TAILS = {
    "stepped": ("(i + 1) % window == 0 or i + 1 == len(loader)", ""),
    "dropped": ("(i + 1) % window == 0", "optimizer.zero_grad()\n"),
    "leaking": ("(i + 1) % window == 0", ""),
}
"""What becomes of the micro-batches that are left over: the boundary, and what stands before an epoch."""

LOSSES = {
    "divided": "loss = criterion(model(x), y) / window\n",
    "undivided": "loss = criterion(model(x), y)\n",
    "divided twice": "loss = criterion(model(x), y) / window / window\n",
}

SHAPES = ("one function", "function per epoch", "class")

_OWN = re.compile(r"(?<![\w.])(model|optimizer|criterion|loader|window|fabric|accelerator)\b(?!=[^=])")


def program(way: str, tail: str, loss: str, shape: str) -> str:
    """A complete file."""
    written = WAYS[way]
    head = f"import torch\n{written.imports}\n\n"
    objects = f"{written.objects}criterion = torch.nn.MSELoss()\n"
    epoch = f"{TAILS[tail][1]}for i, (x, y) in enumerate(loader):\n" + _in(1, _micro_batch(written, tail, loss))
    if shape == "one function":
        body = f"{objects}for epoch in range(epochs):\n" + _in(1, epoch)
        return f"{head}def main(loader, window: int, epochs: int):\n" + _in(1, body)
    if shape == "class":
        return head + _class(objects, epoch)
    handed = ", ".join(filter(None, (written.holder, "model", "optimizer", "criterion", "loader", "window")))
    body = f"{objects}for epoch in range(epochs):\n    train_one_epoch({handed})\n"
    return (
        f"{head}def train_one_epoch({handed}):\n{_in(1, epoch)}\n\n"
        f"def main(loader, window: int, epochs: int):\n{_in(1, body)}"
    )


def _micro_batch(way: Way, tail: str, loss: str) -> str:
    boundary = f"boundary = {TAILS[tail][0]}\n"
    if way.body:
        return f"{boundary}{way.body.format(loss=LOSSES[loss])}if boundary:\n" + _in(1, _STEP)
    backward = f"{LOSSES[loss]}loss.backward()\n"
    return f"{boundary}if boundary:\n{_in(1, backward + _STEP)}else:\n    with model.no_sync():\n{_in(2, backward)}"


def _class(objects: str, epoch: str) -> str:
    objects, epoch = (_OWN.sub(r"self.\1", part) for part in (objects, epoch))
    return (
        "class Training:\n    def __init__(self, loader, window: int):\n"
        f"        self.loader = loader\n        self.window = window\n{_in(2, objects)}\n"
        f"    def epoch(self):\n{_in(2, epoch)}\n"
        "    def fit(self, epochs: int):\n        for epoch in range(epochs):\n            self.epoch()\n"
    )


def _in(levels: int, text: str) -> str:
    return indent(text, "    " * levels)
