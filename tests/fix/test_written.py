"""What is written, line by line, where there is more than one way to write it."""

from __future__ import annotations

import re
from difflib import unified_diff

import pytest

from tests.fix.mended import mended

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
STEP = "            optimizer.step()\n"
GATE = "        if (i + 1) % accum_steps == 0:\n"
SCALED = "        scaler.scale(loss).backward()\n"


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
}


@pytest.mark.parametrize("name", CASES)
def test_a_fix_is_written_so(name):
    source, expected = CASES[name]
    _, after, done = mended(source)
    assert done
    changed = unified_diff(source.splitlines(), after.script.text.splitlines(), "", "", lineterm="", n=0)
    assert [f"{line[0]} {line[1:]}" for line in changed if re.match("[+-][^+-]", line)] == expected


INSIDE = """\
import torch


def train(model, loader, criterion, optimizer, scaler, report):
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
            scaler.scale(loss).backward()
            if step % 10 == 0:
                if step:
                    print(loss.item())
                ANYTHING
            scaler.step(optimizer)
            scaler.update()
"""


@pytest.mark.parametrize(
    ("inner", "ends"),
    [("pass", True), ("for part in report:\n                    part(loss)", False)],
)
def test_a_region_ends_where_nothing_that_follows_needs_it_however_deep_that_stands(inner, ends):
    before, after, mends = mended(INSIDE.replace("ANYTHING", inner))
    assert ("backward-in-autocast" in mends) is ends
    assert ("\n        scaler.scale(loss)" in after.script.text) is ends
    assert "\n            scaler.scale(loss)" in before.script.text
