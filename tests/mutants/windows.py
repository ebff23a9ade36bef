"""The legal windows of the torch dialect, their one-step mutants, and the styles in which people spell them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from textwrap import indent

from amplint.catalogue.examples import STAGE

OPEN, CLOSE = "i % N == 0", "(i + 1) % N == 0"  # the first and the last micro-step of a window

LINES = {
    "forward": 'with torch.autocast("cpu", dtype=torch.float16): loss = criterion(model(x), y)',
    "divide": "loss = loss / N",
    "backward": "scaler.scale(loss).backward()",
    "unscale": "scaler.unscale_(optimizer)",
    "clip": "clip_grad_norm_(model.parameters(), 1.0)",
    "step": "scaler.step(optimizer)",
    "update": "scaler.update()",
    "zero": "optimizer.zero_grad()",
    "schedule": "scheduler.step()",
}


@dataclass(frozen=True)
class Act:
    """A line of the micro-step, and the test that it stands under; "" for none."""

    name: str
    gate: str = ""


Step = tuple[Act, ...]

_MICRO = (Act("forward"), Act("divide"), Act("backward"))
_CLOSING = tuple(Act(name, CLOSE) for name in ("unscale", "clip", "step", "update"))
LEGAL: dict[str, Step] = {
    "zeroed after": (*_MICRO, *_CLOSING, Act("zero", CLOSE), Act("schedule", CLOSE)),
    "zeroed before": (Act("zero", OPEN), *_MICRO, *_CLOSING, Act("schedule", CLOSE)),
}


def mutants(step: Step) -> Iterator[tuple[str, Step]]:
    """Every program that one slip makes of a legal one, with the slip's name."""
    for at, act in enumerate(step):
        before, after = step[:at], step[at + 1 :]
        yield f"drop {act.name}", before + after
        yield f"double {act.name}", (*before, act, act, *after)
        where = "out of" if act.gate else "into"
        yield f"move {act.name} {where} the gate", (*before, Act(act.name, "" if act.gate else CLOSE), *after)
    for first, second in combinations(range(len(step)), 2):
        swapped = list(step)
        swapped[first] = Act(step[second].name, step[first].gate)
        swapped[second] = Act(step[first].name, step[second].gate)
        yield f"swap {step[first].name} and {step[second].name}", tuple(swapped)


def body(step: Step, names: dict[str, str]) -> str:
    """The lines of a micro-step; neighbours under the same test share one `if`. `names` are spelled anew."""
    rows: list[str] = []
    gate = ""
    for act in step:
        if act.gate and act.gate != gate:
            rows.append(f"if {act.gate}:")
        gate = act.gate
        rows.append(("    " if act.gate else "") + LINES[act.name])
    text = "\n".join(rows)
    for name, spelled in names.items():
        text = text.replace(name, spelled)
    return text


_LOOP = "for epoch in range(epochs):\n    for i, (x, y) in enumerate({loader}):\n"


def _script(step: Step) -> tuple[str, str]:
    return STAGE + _LOOP.format(loader="loader") + indent(body(step, {"N": "accum_steps"}), " " * 8) + "\n", ""


_FUNCTION = """\
import torch
from torch.nn.utils import clip_grad_norm_


def train(model, loader, criterion, optimizer, scaler, scheduler, epochs, accum_steps):
    model.train()
    assert len(loader) % accum_steps == 0
"""


def _function(step: Step) -> tuple[str, str]:
    loop = indent(_LOOP.format(loader="loader"), "    ")
    call = "train(model, loader, criterion, optimizer, scaler, scheduler, epochs, accum_steps)\n"
    return _FUNCTION + loop + indent(body(step, {"N": "accum_steps"}), " " * 12) + "\n", STAGE + call


_CLASS = """\
import torch
from torch import nn


class Trainer:
    def __init__(self, model, loader, accum_steps):
        self.model = model
        self.loader = loader
        self.accum_steps = accum_steps
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda update: 0.99**update)

    def run(self, epochs):
        for epoch in range(epochs):
            self.train_epoch()

    def train_epoch(self):
        self.model.train()
        if len(self.loader) % self.accum_steps:
            raise ValueError("the window does not divide the epoch")
        for i, (x, y) in enumerate(self.loader):
"""
_MEMBERS = {name: f"self.{name}" for name in ("criterion", "model", "scaler", "optimizer", "scheduler")}
_MEMBERS |= {"clip_grad_norm_": "nn.utils.clip_grad_norm_", "N": "self.accum_steps"}


def _class(step: Step) -> tuple[str, str]:
    call = "Trainer(model, loader, accum_steps).run(epochs)\n"
    return _CLASS + indent(body(step, _MEMBERS), " " * 12) + "\n", STAGE + call


STYLES = {"script": _script, "function": _function, "class": _class}
"""Style -> (what the static half reads, what makes a run of it)."""
