"""What is read held against what is run: through both command lines, on real scripts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from amplint.cli import main
from tests.runtime.forked import run_module

ROOT = Path(__file__).parents[2]
HEAD = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu")
loader = [torch.randn(8, 4) for _ in range(6)]
"""
WRONG = """\
for inputs in loader:
    with torch.autocast("cpu", dtype=torch.float16):
        loss = model(inputs).float().pow(2).mean()
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""
NEVER_RUN = """\
def never_called():
    for inputs in loader:
        optimizer.zero_grad()
        scaler.scale(model(inputs).mean()).backward()
        optimizer.step()
"""
ONLY_LIVE = """\
import functools
steps = [getattr(scaler, name) for name in ("step",)]
for inputs in loader:
    functools.partial(scaler.scale(model(inputs).mean()).backward)()
    getattr(nn.utils, "clip_grad_" + "norm_")(model.parameters(), 1.0)
    steps[0](optimizer)
    scaler.update()
    optimizer.zero_grad()
"""


@pytest.fixture
def tried(tmp_path, monkeypatch, capsys):
    """The guard's report of a script, and what amplint makes of both: status of each rule, exit code."""
    monkeypatch.chdir(tmp_path)

    def run(text: str, change: str = "", guarded: str | None = None):
        script = tmp_path / "train.py"
        script.write_text(guarded or text)
        done = run_module("runtime_guard", ["--mode=record", "--report=live.json", "-q", "train.py"], tmp_path)
        assert done.status == 0, done.stderr
        script.write_text(text + change)
        capsys.readouterr()
        code = main(["train.py", "--runtime-report=live.json", "--output-format=json", "--isolated"])
        found = json.loads(capsys.readouterr().out)
        return {one["code"]: (one["live"]["status"], one["live"]["what"]) for one in found}, code

    return run


def test_a_run_confirms_what_it_meets_with_its_numbers(tried):
    found, code = tried(HEAD + WRONG)
    status, what = found["clip-before-unscale"]
    assert (status, code) == ("confirmed", 1)
    assert "the effective threshold is 1.5e-05" in what
    assert "(6 times)" in what


def test_a_run_says_nothing_of_what_it_does_not_come_to(tried):
    found, code = tried(HEAD + NEVER_RUN + WRONG)
    assert found["step-bypasses-scaler"] == ("not reached", "the run did not come to this line")
    assert code == 1


def test_a_run_says_nothing_of_a_file_that_has_changed(tried):
    found, _ = tried(HEAD + WRONG, change="# one more line\n")
    assert found["clip-before-unscale"][0] == "confirmed"
    found, _ = tried(
        HEAD + WRONG, guarded=HEAD + WRONG.replace("nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "pass")
    )
    assert found["clip-before-unscale"] == ("not reached", "the file has changed since the run")


def test_what_only_the_run_meets_stands_at_its_line(tried):
    found, code = tried(HEAD + ONLY_LIVE)
    assert found["clip-before-unscale"] == ("live only", "met 6 times by the run")
    assert code == 1


def test_the_guard_can_read_the_files_of_its_run_itself(tmp_path):
    (tmp_path / "train.py").write_text(HEAD + WRONG)
    guard = [sys.executable, "-m", "runtime_guard", "--mode=record", "--report=live.json", "--lint", "train.py"]
    env = {"PYTHONPATH": str(ROOT), "PATH": ""}
    ended = subprocess.run(guard, check=True, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert "= run: confirmed: gradients are clipped" in ended.stderr
    (finding,) = json.loads((tmp_path / "live.json").read_text())["static"]
    assert (finding["code"], finding["live"]["status"]) == ("clip-before-unscale", "confirmed")
