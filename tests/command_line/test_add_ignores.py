"""What is found is silenced at its place, in the user's own file, and nothing else changes."""

from __future__ import annotations

import json
import os

import pytest

CLIP = """\
for inputs, targets in loader:
    scaler.scale(criterion(model(inputs), targets)).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0){comment}
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""
HEAD = """\
import torch

scaler = torch.amp.GradScaler("cuda")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
"""


@pytest.fixture
def real(amplint):
    return lambda *arguments: amplint(*arguments, "--output-format=concise", analysis=None)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "  # amplint: ignore[clip-before-unscale]"),
        ("  # why", "  # why  # amplint: ignore[clip-before-unscale]"),
        (
            "  # amplint: ignore[repeated-unscale] -- why",
            "  # amplint: ignore[repeated-unscale, clip-before-unscale] -- why",
        ),
    ],
)
def test_a_comment_is_added_at_the_end_of_the_statement(real, write, project, before, after):
    write({"train.py": HEAD + CLIP.format(comment=before)})
    ended = real("--add-ignores")
    assert (ended.code, ended.out) == (0, "")
    assert "1 finding silenced in 1 file" in ended.err
    assert (project / "train.py").read_text() == HEAD + CLIP.format(comment=after)
    assert real("--ignore=unused-ignore").code == 0


def test_a_statement_of_several_lines_gets_it_behind_the_last(real, write, project):
    text = CLIP.format(comment="").replace("model.parameters(), 1.0", "\r\n        model.parameters(),\r\n        1.0")
    write({"train.py": (HEAD + text).encode()})
    real("--add-ignores")
    changed = (project / "train.py").read_bytes().decode()
    assert changed == (HEAD + text).replace("1.0)", "1.0)  # amplint: ignore[clip-before-unscale]")
    assert real().code == 0


def test_a_cell_of_a_notebook_gets_it_and_its_outputs_stay(real, write, project):
    cells = [
        {"cell_type": "code", "source": [HEAD], "outputs": [{"x": 1}], "metadata": {}, "execution_count": 1},
        {"cell_type": "code", "source": CLIP.format(comment="").splitlines(True), "outputs": [], "metadata": {}},
    ]
    write({"nb.ipynb": json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}, indent=1)})
    real("--add-ignores")
    after = json.loads((project / "nb.ipynb").read_text())["cells"]
    assert after[0] == cells[0]
    assert "".join(after[1]["source"]) == CLIP.format(comment="  # amplint: ignore[clip-before-unscale]")


def test_what_is_no_mistake_of_training_is_not_silenced(real, write, project):
    write({"train.py": "loss.backward(\n", "b.py": "x = 1  # amplint: ignore[clip-before-unscale]\n"})
    assert "0 findings silenced in 0 files" in real("--add-ignores").err
    assert (project / "train.py").read_text() == "loss.backward(\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="whoever may do everything is not refused")
def test_a_file_that_cannot_be_written_is_named(real, write, project):
    write({"train.py": b"# -*- coding: ascii -*-\n" + (HEAD + CLIP.format(comment="")).encode()})
    (project / "train.py").chmod(0o444)
    assert "train.py: not written: " in real("--add-ignores").err


def test_options_that_write_different_things_exclude_each_other(real):
    for pair in (("--add-ignores", "--fix"), ("--write-baseline", "--add-ignores"), ("--diff", "--write-baseline")):
        ended = real(*pair)
        assert (ended.code, "exclude each other" in ended.err) == (2, True)
    assert "needs files" in real("-", "--add-ignores").err
