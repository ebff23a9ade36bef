"""What is written, line by line, where there is more than one way to write it."""

from __future__ import annotations

import pytest

from tests.fix.mended import changed, mended

ACCELERATE = """\
import torch
from accelerate import Accelerator


def train(model, optimizer, loader, criterion, limit):
    accelerator = Accelerator(gradient_accumulation_steps=4, mixed_precision="fp16")
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = criterion(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
"""
TORCH = """\
import torch


def train(model, loader, criterion, optimizer, scaler, scheduler, wrapper, accum_steps, settings):
    for i, (x, y) in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y) / accum_steps
        scaler.scale(loss).backward()
        if (i + 1) % accum_steps == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
"""
PLAIN = """\
import torch


def train(model, loader, criterion, optimizer, accum_steps, total=0):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        loss.backward()
        if (i + 1) % accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
    return total
"""
TWO_BACKWARDS = """\
import torch


def train(model, loader, criterion, optimizer, accum_steps):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accum_steps
        if model.sharded:
            (loss + model.penalty).backward()
            torch.nn.utils.clip_grad_norm_(model.parts(), 1.0)  # each part
        else:
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if (i + 1) % accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
"""
BRANCHES = """\
import torch


def train(model, loader, criterion, optimizer, accum_steps):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accum_steps
        loss.backward()
        # by the norm of all
        if model.sharded:
            \"""Each part has a norm.\"""
            model.clip_grad_norm_(1.0)
        else:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)

        if (i + 1) % accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
"""
NESTED = """\
import torch


class Trainer:
    accum_steps = 1
    interval = 4

    def train(self, model, loader, criterion, optimizer):
        batches = iter(loader)  # in windows of `accum_steps`
        for update in range(len(loader) // self.accum_steps):
            optimizer.zero_grad()
            for micro in range(self.accum_steps):
                x, y = next(batches)
                loss = criterion(model(x), y)
                if (update + 1) % self.interval == 0:
                    (grads,) = torch.autograd.grad(loss, x, create_graph=True)
                    loss = loss + grads.square().mean()
                loss.backward()
            optimizer.step()
"""
BOTH = """\
import torch


def train(model, loader, criterion, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast('cuda', torch.bfloat16) and torch.set_grad_enabled(True) as on:
            loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""
TWO_SCHEDULES = """\
import torch


def train(model, loader, criterion, settings):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    other = torch.optim.SGD(model.parameters(), lr=0.1)
    first = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    second = torch.optim.lr_scheduler.ExponentialLR(other, 0.9)
    for epoch in range(3):
        if settings.per_epoch:
            first.step()
            second.step()
        for x, y in loader:
            optimizer.zero_grad()
            other.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            other.step()
"""
BYPASSED = """\
import torch


def train(model, loader, criterion, settings, accum_steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)
    scaler = torch.amp.GradScaler("cuda") if settings.precision == "half" else None
    scaled = scaler is not None
    for i, (x, y) in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y) / accum_steps
        if scaled:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        if (i + 1) % accum_steps == 0:
            if settings.limit is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), settings.limit)
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
"""
STEP = "            optimizer.step()\n"
GATE = "        if (i + 1) % accum_steps == 0:\n"
SCALED = "        scaler.scale(loss).backward()\n"


CLIPPED = "        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"


def clipped(line: str) -> str:
    return ACCELERATE.replace(STEP, f"{line}\n{STEP}")


CASES = {
    "a clip of Accelerate is gated as Accelerate gates it": (
        clipped("            accelerator.clip_grad_norm_(model.parameters(), 1.0)  # small"),
        [
            "-             accelerator.clip_grad_norm_(model.parameters(), 1.0)  # small",
            "+             if accelerator.sync_gradients:",
            "+                 accelerator.clip_grad_norm_(model.parameters(), 1.0)  # small",
        ],
    ),
    "a clip over several lines is gated with all of them": (
        clipped("            accelerator.clip_grad_norm_(\n                model.parameters(), 1.0\n            )"),
        [
            "-             accelerator.clip_grad_norm_(",
            "-                 model.parameters(), 1.0",
            "-             )",
            "+             if accelerator.sync_gradients:",
            "+                 accelerator.clip_grad_norm_(",
            "+                     model.parameters(), 1.0",
            "+                 )",
        ],
    ),
    "a clip that has a condition is given another one": (
        clipped("            if limit or 1:\n                accelerator.clip_grad_norm_(model.parameters(), limit)"),
        ["-             if limit or 1:", "+             if accelerator.sync_gradients and (limit or 1):"],
    ),
    "torch's clip becomes the framework's and is gated": (
        clipped("            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"),
        [
            "-             torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
            "+             if accelerator.sync_gradients:",
            "+                 accelerator.clip_grad_norm_(model.parameters(), 1.0)",
        ],
    ),
    "the optimizer of a framework is zeroed by its name": (
        ACCELERATE.replace("            optimizer.zero_grad()\n", ""),
        ["+             optimizer.zero_grad()"],
    ),
    "a division by a number is known to be that of the window": (
        ACCELERATE.replace("            accelerator.b", "            loss = loss / 4\n            accelerator.b"),
        ["-             loss = loss / 4"],
    ),
    "the comments of what goes stay": (
        ACCELERATE.replace(
            "            accelerator.b",
            "            # mean\n            loss /= 4  # of four\n            accelerator.b",
        ),
        ["-             loss /= 4  # of four", "+             # of four"],
    ),
    "a flag that is handed to a call counts as the gate does": (
        TORCH.replace(SCALED, f"        wrapper(loss, i % accum_steps == 0)\n{SCALED}").replace("(i + 1) %", "i %"),
        [
            "-         wrapper(loss, i % accum_steps == 0)",
            "+         wrapper(loss, (i + 1) % accum_steps == 0)",
            "-         if i % accum_steps == 0:",
            "+         if (i + 1) % accum_steps == 0:",
        ],
    ),
    "the first micro-step of a window is no condition of what moves to its last": (
        TORCH.replace(SCALED, f"        if i % accum_steps == 0:\n            scheduler.step()\n{SCALED}"),
        [
            "-         if i % accum_steps == 0:",
            "-             scheduler.step()",
            "+             scheduler.step()",
        ],
    ),
    "a step goes to the update that waits for it": (
        TORCH.replace(f"{GATE}            scaler.step(optimizer)\n", f"        scaler.step(optimizer)\n{GATE}"),
        ["-         scaler.step(optimizer)", "+             scaler.step(optimizer)"],
    ),
    "all of a sum is divided": (
        PLAIN.replace("loss.backward()", "(loss + model.penalty).backward()"),
        ["-         (loss + model.penalty).backward()", "+         ((loss + model.penalty) / accum_steps).backward()"],
    ),
    "a sum in a call is divided as a whole": (
        TORCH.replace(" / accum_steps", "").replace("scale(loss)", "scale(loss + loss)"),
        [
            "-         scaler.scale(loss + loss).backward()",
            "+         scaler.scale((loss + loss) / accum_steps).backward()",
        ],
    ),
    "a window that is a product is one divisor": (
        PLAIN.replace("% accum_steps", "% (accum_steps * 2)"),
        ["-         loss.backward()", "+         (loss / (accum_steps * 2)).backward()"],
    ),
    "all of a sum is added without its graph": (
        PLAIN.replace("criterion(model(x), y)", "criterion(model(x), y) / accum_steps").replace(
            "        loss.backward()\n", "        loss.backward()\n        total += (loss + loss)\n"
        ),
        ["-         total += (loss + loss)", "+         total += (loss + loss).detach()"],
    ),
    "a condition in parentheses stays one": (
        clipped("            if (limit or 1):\n                accelerator.clip_grad_norm_(model.parameters(), limit)"),
        ["-             if (limit or 1):", "+             if accelerator.sync_gradients and (limit or 1):"],
    ),
    "all of a condition is negated": (
        TORCH.replace(
            SCALED,
            "        if (settings.cpu and settings.slow):\n            loss.backward()\n"
            "        else:\n            scaler.scale(loss).backward()\n",
        ).replace(
            "            scaler.step(optimizer)\n            scaler.update()\n",
            "            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
            "            if (settings.cpu and settings.slow):\n                optimizer.step()\n"
            "            else:\n                scaler.step(optimizer)\n                scaler.update()\n",
        ),
        ["+             if not (settings.cpu and settings.slow):", "+                 scaler.unscale_(optimizer)"],
    ),
    "a condition is not put in parentheses twice": (
        TORCH.replace(
            "            scaler.step(optimizer)\n            scaler.update()\n",
            "            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
            "            if (settings.amp and settings.gpu):\n"
            "                scaler.step(optimizer)\n                scaler.update()\n",
        ),
        ["+             if settings.amp and settings.gpu:", "+                 scaler.unscale_(optimizer)"],
    ),
    "what both branches do goes under another gate as two branches": (
        TWO_BACKWARDS,
        [
            "-             torch.nn.utils.clip_grad_norm_(model.parts(), 1.0)  # each part",
            "-             torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
            "+             if model.sharded:",
            "+                 torch.nn.utils.clip_grad_norm_(model.parts(), 1.0)  # each part",
            "+             else:",
            "+                 torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
        ],
    ),
    "fixes of one statement wait for each other, and for those around it": (
        TORCH.replace(" / accum_steps", "")
        .replace(SCALED, SCALED + CLIPPED)
        .replace("scaler.step(optimizer)\n", "scheduler.step()\n            scaler.step(optimizer)\n"),
        [
            "-         scaler.scale(loss).backward()",
            "-         torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
            "+         scaler.scale(loss / accum_steps).backward()",
            "-             scheduler.step()",
            "+             scaler.unscale_(optimizer)",
            "+             torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
            "+             scheduler.step()",
        ],
    ),
    "what every branch does wrong is moved with its branches": (
        BRANCHES,
        [
            "-         # by the norm of all",
            "-         if model.sharded:",
            '-             """Each part has a norm."""',
            "-             model.clip_grad_norm_(1.0)",
            "-         else:",
            "-             torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
            "+             # by the norm of all",
            "+             if model.sharded:",
            '+                 """Each part has a norm."""',
            "+                 model.clip_grad_norm_(1.0)",
            "+             else:",
            "+                 torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
        ],
    ),
    "a window that the message names is written as it is known here": (
        NESTED,
        ["-                 loss.backward()", "+                 (loss / self.accum_steps).backward()"],
    ),
    "what stands together and is as wrong is moved together": (
        TWO_SCHEDULES,
        [
            "-         if settings.per_epoch:",
            "-             first.step()",
            "-             second.step()",
            "+         if settings.per_epoch:",
            "+             first.step()",
            "+             second.step()",
        ],
    ),
    "a step that goes through a scaler does so where the backward does": (
        BYPASSED,
        [
            "+                 if scaled:",
            "+                     scaler.unscale_(optimizer)",
            "-             optimizer.step()",
            "+             if scaled:",
            "+                 scaler.step(optimizer)",
            "+                 scaler.update()",
            "+             else:",
            "+                 optimizer.step()",
        ],
    ),
    "contexts that an `and` joins are both entered": (
        BOTH,
        [
            "-         with torch.autocast('cuda', torch.bfloat16) and torch.set_grad_enabled(True) as on:",
            "+         with torch.autocast('cuda', torch.bfloat16), torch.set_grad_enabled(True) as on:",
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_fix_is_written_so(name):
    source, expected = CASES[name]
    assert changed(source) == expected


@pytest.mark.parametrize(
    ("context", "is_written"),
    [
        ("torch.autocast(dtype=torch.bfloat16, enabled=fast)", True),
        ("torch.autocast(dtype=torch.bfloat16) if fast else nullcontext()", True),
        ("nullcontext() if device.type == 'cuda' else torch.autocast(enabled=False)", False),
        ("torch.autocast(enabled=fast) if torch.cuda.is_available() else nullcontext()", False),
    ],
)
def test_a_device_is_not_named_where_a_condition_asks_which_it_is(context, is_written):
    source = f"""\
from contextlib import nullcontext

import torch


def train(model, loader, criterion, optimizer, device, fast):
    for x, y in loader:
        optimizer.zero_grad()
        with {context}:
            loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""
    before, after, _ = mended(source)
    assert [finding.code for finding in before.findings] == ["invalid-autocast-arguments"]
    assert ('device_type="cuda"' in after.script.text) is is_written
