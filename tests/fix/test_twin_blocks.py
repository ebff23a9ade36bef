"""Where two blocks look alike, a fix stands in that of its optimizer, and the other one is mended too."""

from __future__ import annotations

import pytest

from tests.fix.mended import mended

HEAD = """\
import torch


def train(gen, disc, loader, criterion, accum_steps, scaler, other):
    FIRST = torch.optim.Adam(gen.parameters(), lr=1e-4)
    SECOND = torch.optim.Adam(disc.parameters(), lr=1e-4)
    for i, (z, x) in enumerate(loader):
"""
SCALED = """\
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(LOSS) / accum_steps
        scaler.scale(loss).backward()
        if (i + 1) % accum_steps == 0:
            scaler.step(OPTIMIZER)
            scaler.update()
"""
PLAIN = """\
        loss = criterion(LOSS) / accum_steps
        loss.backward()
        if (i + 1) % accum_steps == 0:
            OPTIMIZER.step()
"""
NAMES = {"alike": ("opt_a", "opt_b"), "swapped": ("opt_d", "opt_g"), "numbered": ("optimizer", "optimizer2")}


def program(block: str, first: str, second: str, other: str = "scaler") -> str:
    blocks = block.replace("OPTIMIZER", first).replace("LOSS", "gen(z), x")
    blocks += block.replace("OPTIMIZER", second).replace("LOSS", "disc(x)").replace("scaler.", f"{other}.")
    return HEAD.replace("FIRST", first).replace("SECOND", second) + blocks


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("block", [PLAIN, SCALED])
@pytest.mark.parametrize("other", ["scaler", "other"])
def test_each_block_zeroes_its_own_gradients(names, block, other):
    first, second = NAMES[names]
    source = program(block, first, second, other)
    _, after, done = mended(source, ("safe",))
    assert done == ["missing-zero-grad"] * 2
    last = "update()" if block is SCALED else "step()"
    blocks = after.script.text.split("        loss = ")[1:] if block is PLAIN else after.script.text.split("with ")[1:]
    for name, lines in zip((first, second), blocks, strict=True):
        assert lines.rstrip().endswith(f"{last}\n            {name}.zero_grad()")


BEFORE = """\
        OPTIMIZER.zero_grad()
        loss = criterion(LOSS) / accum_steps
        loss.backward()
        if (i + 1) % accum_steps == 0:
            OPTIMIZER.step()
"""


def test_what_is_erased_on_every_micro_step_is_erased_in_its_own_block():
    source = program(BEFORE, "left", "right")
    _, after, done = mended(source)
    assert done == ["zero-grad-per-micro-step"] * 2
    assert after.script.text.count("            left.step()\n            left.zero_grad()\n") == 1
    assert after.script.text.count("            right.step()\n            right.zero_grad()\n") == 1
    assert after.script.text.count("zero_grad()") == 2
