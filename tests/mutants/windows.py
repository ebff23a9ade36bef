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


def _spelled(step: Step, opens: str, closes: str, margin: int, names: dict[str, str] | None = None) -> str:
    """The lines of a micro-step whose gates are spelled in another way."""
    spelled = tuple(Act(act.name, {OPEN: opens, CLOSE: closes}.get(act.gate, act.gate)) for act in step)
    return indent(body(spelled, names or {"N": "accum_steps"}), " " * margin) + "\n"


def _notebook(step: Step) -> tuple[str, str]:
    return STAGE + "for i, (x, y) in enumerate(loader):\n" + indent(body(step, {"N": "4"}), " " * 4) + "\n", ""


def _counted(step: Step) -> tuple[str, str]:
    head = "seen = 0\nfor epoch in range(epochs):\n    for x, y in loader:\n        seen += 1\n"
    return STAGE + head + _spelled(step, "(seen - 1) % N == 0", "seen % N == 0", 8), ""


def _while(step: Step) -> tuple[str, str]:
    head = "for epoch in range(epochs):\n    i = 0\n    while i < len(loader):\n        x, y = loader[i]\n"
    return STAGE + head + indent(body(step, {"N": "accum_steps"}), " " * 8) + "\n        i += 1\n", ""


def _nested(step: Step) -> tuple[str, str]:
    head = """\
for epoch in range(epochs):
    stream = iter(loader)
    for update in range(len(loader) // accum_steps):
        for micro in range(accum_steps):
            x, y = next(stream)
"""
    return STAGE + head + _spelled(step, "micro == 0", "micro == N - 1", 12), ""


def _flags(step: Step) -> tuple[str, str]:
    head = _LOOP.format(loader="loader") + "        opens, closes = i % accum_steps == 0, (i + 1) % accum_steps == 0\n"
    return STAGE + head + _spelled(step, "opens", "closes", 8), ""


def _closure(step: Step) -> tuple[str, str]:
    call = "\n\n" + _LOOP.format(loader="loader") + "        train_step(i, x, y)\n"
    return STAGE + "def train_step(i, x, y):\n" + indent(body(step, {"N": "accum_steps"}), " " * 4) + call, ""


def _generator(step: Step) -> tuple[str, str]:
    head = """\
def places(batches, length):
    for i, batch in enumerate(batches):
        yield batch, i % length == 0, (i + 1) % length == 0


for epoch in range(epochs):
    for (x, y), opens, closes in places(loader, accum_steps):
"""
    return STAGE + head + _spelled(step, "opens", "closes", 8), ""


def _twins(step: Step) -> tuple[str, str]:
    plain = {
        "forward": "loss = criterion(model(x), y)",
        "divide": "loss = loss / accum_steps",
        "backward": "loss.backward()",
    }
    lines = "\n".join(plain.values())
    closing = "clip_grad_norm_(model.parameters(), 1.0)\noptimizer.step()\noptimizer.zero_grad()\nscheduler.step()"
    other = f"{lines}\nif (i + 1) % accum_steps == 0:\n{indent(closing, '    ')}"
    head = _FUNCTION.replace("accum_steps):", "accum_steps, use_amp):") + indent(_LOOP.format(loader="loader"), "    ")
    twins = f"if use_amp:\n{indent(body(step, {'N': 'accum_steps'}), '    ')}\nelse:\n{indent(other, '    ')}\n"
    call = "train(model, loader, criterion, optimizer, scaler, scheduler, epochs, accum_steps, True)\n"
    return head + indent(twins, " " * 12), STAGE + call


STYLES = {
    "script": _script,
    "function": _function,
    "class": _class,
    "notebook": _notebook,
    "counted": _counted,
    "while": _while,
    "nested": _nested,
    "flags": _flags,
    "closure": _closure,
    "generator": _generator,
    "twins": _twins,
}
"""Style -> (what the static half reads, what makes a run of it)."""
