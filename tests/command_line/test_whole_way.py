"""One mistake all the way, with the analysis that amplint brings."""

from __future__ import annotations

import json

TRAIN = """\
import torch
from torch.nn.utils import clip_grad_norm_


def train(model, loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(inputs), targets)
        scaler.scale(loss).backward()
{}        scaler.step(optimizer)
        scaler.update()
"""
CLIP = "        clip_grad_norm_(model.parameters(), 1.0){}\n"


def test_a_mistake_is_found_shown_and_hidden(amplint, write):
    write({"train.py": TRAIN.format(CLIP.format(""))})
    ended = amplint("--output-format", "json", analysis=None)
    assert ended.code == 1
    (finding,) = json.loads(ended.out)
    assert finding["code"] == "clip-before-unscale"
    assert finding["location"] == {"row": 13, "column": 9}
    assert amplint("--ignore", "clipping", analysis=None).code == 0
    write({"train.py": TRAIN.format(CLIP.format("  # amplint: ignore[clip-before-unscale]"))})
    assert amplint(analysis=None) == (0, "All checks passed!\n", "")


def test_what_is_right_is_passed(amplint, write):
    write({"train.py": TRAIN.format("        scaler.unscale_(optimizer)\n" + CLIP.format(""))})
    assert amplint(analysis=None) == (0, "All checks passed!\n", "")


def test_a_file_that_cannot_be_parsed_is_told_at_its_place(amplint, write):
    write({"train.py": "x = 1\nloss.backward(\n"})
    ended = amplint("--output-format", "concise", analysis=None)
    assert ended.code == 1
    assert ended.out.startswith("train.py:2:14: error[syntax-error] the file cannot be parsed: '(' was never closed")
