"""Notebooks all the way: found, read, reported by cell, hidden by comments."""

from __future__ import annotations

import json

from tests.source.cells import markdown, notebook

SETUP = """\
!pip install -q torch
import torch
from torch.nn.utils import clip_grad_norm_
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
"""
LOOP = """\
%%time
for inputs, targets in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(inputs), targets)
    scaler.scale(loss).backward()
    clip_grad_norm_(model.parameters(), 1.0){}
    scaler.step(optimizer)
    scaler.update()
"""


def trained(comment: str = "", *more: str) -> bytes:
    return notebook(markdown("# Training"), SETUP, LOOP.format(comment), *more)


def test_a_mistake_over_two_cells_is_told_by_cell_and_row(amplint, write):
    write({"nb.ipynb": trained(), ".ipynb_checkpoints/nb.ipynb": trained()})
    ended = amplint("--output-format", "json", analysis=None)
    assert ended.code == 1
    (finding,) = json.loads(ended.out)
    assert (finding["code"], finding["cell"]) == ("clip-before-unscale", 3)
    assert finding["location"] == {"row": 7, "column": 5}
    assert [event["cell"] for event in finding["witness"]] == [3]
    assert "nb.ipynb:cell 3:7:5: error[clip-before-unscale]" in amplint("--output-format", "concise", analysis=None).out
    full = amplint(analysis=None).out
    assert "7 |     clip_grad_norm_(model.parameters(), 1.0)" in full
    assert "6 |     scaler.scale(loss).backward()" in full


def test_comments_in_cells_hide(amplint, write):
    write({"nb.ipynb": trained("  # amplint: ignore[clip-before-unscale]")})
    assert amplint(analysis=None) == (0, "All checks passed!\n", "")
    write({"nb.ipynb": trained("", "# amplint: ignore-file\n")})
    assert amplint(analysis=None).code == 0


def test_a_comment_that_hides_nothing_is_told_at_its_cell(amplint, write):
    write({"nb.ipynb": notebook("x = 1", "!ls\nx = 2  # amplint: ignore[clip-before-unscale]")})
    ended = amplint("--output-format", "concise", analysis=None)
    assert "nb.ipynb:cell 2:2:26: warning[unused-ignore]" in ended.out


def test_a_cell_that_cannot_be_parsed_does_not_hide_the_others(amplint, write):
    write({"nb.ipynb": trained("", "print 'done'")})
    lines = amplint("--output-format", "concise", analysis=None).out.splitlines()
    assert "nb.ipynb:cell 3:7:5: error[clip-before-unscale]" in lines[0]
    assert "nb.ipynb:cell 4:1:1: error[syntax-error] the cell cannot be parsed: " in lines[1]
    assert "cell 4" not in amplint("--ignore", "syntax-error", "--output-format", "concise", analysis=None).out


def test_a_notebook_that_cannot_be_read_is_a_finding_and_no_crash(amplint, write):
    write({"nb.ipynb": '{"cells": [\n"loss.backward()",\n<<<<<<< HEAD'})
    ended = amplint("--output-format", "concise", analysis=None)
    assert ended.code == 1
    assert ended.out.startswith("nb.ipynb:3:1: error[unreadable-file] the notebook is not valid JSON")


def test_a_notebook_may_be_as_large_as_its_pictures(amplint, write):
    picture = {"cell_type": "code", "source": "show()", "outputs": [{"data": {"image/png": "A" * (1 << 21)}}]}
    write({"nb.ipynb": notebook(picture, SETUP, LOOP.format(""))})
    assert amplint(analysis=None).code == 1


def test_a_notebook_from_stdin_is_known_by_its_name(amplint, monkeypatch):
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(trained())))
    ended = amplint("-", "--stdin-filename", "nb.ipynb", "--output-format", "concise", analysis=None)
    assert "nb.ipynb:cell 3:7:5: error[clip-before-unscale]" in ended.out
