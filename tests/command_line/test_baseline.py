"""A baseline hides what was there, and nothing that is new: the real rules on a real script."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SCRIPT = """\
import torch


def one_step(model, optimizer, scaler, inputs, targets):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
    scaler.scale( loss ).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()


def main(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        one_step(model, optimizer, scaler, inputs, targets)
"""
SECOND = """

def other(model, optimizer, scaler, loader):
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
"""


@pytest.fixture
def real(amplint):
    return lambda *arguments: amplint(*arguments, "--output-format=concise", analysis=None)


def test_what_the_baseline_holds_is_not_told(real, write, project):
    write({"src/train.py": SCRIPT})
    assert real().code == 1
    assert real("--write-baseline").code == 0
    (entry,) = json.loads((project / "amplint-baseline.json").read_text())["findings"]
    assert (entry["file"], entry["code"]) == ("src/train.py", "clip-before-unscale")
    ended = real("--baseline", "amplint-baseline.json")
    assert (ended.code, ended.out) == (0, "All checks passed!\n")
    assert "1 finding of the baseline" in ended.err


def test_formatting_shifted_lines_and_a_renamed_function_bring_nothing_back(real, write, project):
    write({"train.py": SCRIPT})
    real("--write-baseline")
    changed = ("# a line\n" * 10 + SCRIPT).replace("one_step", "update_once").replace("one_step", "step")
    write({"train.py": changed})
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", "--isolated", "train.py"], check=True)
    assert (project / "train.py").read_text() != changed
    assert real("--baseline=amplint-baseline.json").code == 0
    write({"train.py": (project / "train.py").read_text() + SECOND})
    ended = real("--baseline=amplint-baseline.json")
    assert ended.code == 1
    assert ended.out.count("clip-before-unscale") == 1


def test_the_configuration_names_a_baseline_and_the_command_line_can_leave_it(real, write, project):
    write({"train.py": SCRIPT, "pyproject.toml": '[tool.amplint]\nbaseline = "known.json"\n'})
    assert "known.json cannot be read" in real().err
    real("--write-baseline")
    assert (project / "known.json").exists()
    assert real().code == 0
    assert real("--no-baseline").code == 1
    assert real("-q") == (0, "", "")


def test_an_entry_that_nothing_matches_is_told_of_and_goes_with_the_next_baseline(real, write, project):
    write({"a.py": SCRIPT, "b.py": SCRIPT})
    real("--write-baseline")
    write({"a.py": "x = 1\n"})
    assert "no longer there" in real("--baseline=amplint-baseline.json").err
    assert "no longer there" not in real("--baseline=amplint-baseline.json", "b.py").err
    assert "no longer there" not in real("--baseline=amplint-baseline.json", "--select=scheduler").err
    assert "1 finding written" in real("--write-baseline", "a.py").err
    (entry,) = json.loads((project / "amplint-baseline.json").read_text())["findings"]
    assert entry["file"] == "b.py"


def test_entries_of_files_that_are_gone_go_with_the_next_baseline(real, write, project):
    write({"a.py": SCRIPT, "b.py": SCRIPT})
    real("--write-baseline")
    (project / "b.py").unlink()
    assert "1 finding written" in real("--write-baseline", "a.py").err


def test_a_file_that_cannot_be_read_is_never_hidden(real, write):
    write({"train.py": "loss.backward(\n"})
    assert "0 findings written" in real("--write-baseline").err
    assert real("--baseline=amplint-baseline.json").code == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a baseline of version 1"),
        ('{"version": 2, "findings": []}', "is not a baseline of version 1"),
        ('{"version": 1}', "is damaged"),
        ('{"version": 1, "findings": [{"file": 1, "code": "", "fingerprint": ""}]}', "is damaged"),
    ],
)
def test_a_baseline_that_is_none_is_2_and_one_line(real, write, content, said):
    write({"train.py": SCRIPT, "known.json": content})
    ended = real("--baseline", "known.json")
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_the_same_findings_give_the_same_bytes(real, write, project):
    write({"b.py": SCRIPT, "a.py": SCRIPT})
    real("--write-baseline")
    before = (project / "amplint-baseline.json").read_bytes()
    real("--write-baseline", "b.py", "a.py")
    assert (project / "amplint-baseline.json").read_bytes() == before
