"""Findings are kept from one run to the next, and never longer than they are right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAIN = """\
import torch
from steps import clip

scaler = torch.amp.GradScaler("cuda")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for inputs, targets in loader:
    scaler.scale(criterion(model(inputs), targets)).backward()
    clip(model, scaler, optimizer)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""
WRONG = """\
import torch


def clip(model, scaler, optimizer):
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
"""
RIGHT = WRONG.replace("    torch", "    scaler.unscale_(optimizer)\n    torch")


@pytest.fixture
def codes(amplint):
    """The rules that speak in a real run, in JSON without fixes being looked for."""

    def run(*arguments: str) -> list[str]:
        lines = amplint("--output-format", "concise", "-q", *arguments, analysis=None).out.splitlines()
        return [line.partition("[")[2].partition("]")[0] for line in lines]

    return run


def loaded(project: Path, *arguments: str) -> set[str]:
    """The heavy modules that a run of the command loads."""
    program = "import sys; from amplint.cli import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", program, "--output-format", "concise", *arguments]
    ended = subprocess.run(command, cwd=project, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    return {"libcst"} & set(ended.stderr.split())


def test_what_has_not_changed_is_not_analysed_again(codes, write, project):
    write({"main.py": MAIN, "steps.py": RIGHT})
    assert loaded(project) == {"libcst"}
    assert loaded(project) == set()
    assert loaded(project, "--no-cache") == {"libcst"}


def test_a_kept_finding_is_told_as_it_was(amplint, write):
    write({"main.py": MAIN, "steps.py": WRONG})
    first, second = (amplint("--output-format", "json", analysis=None).out for _ in range(2))
    assert first == second == amplint("--output-format", "json", "--no-cache", analysis=None).out
    assert json.loads(first)


def test_a_neighbour_that_changes_changes_what_is_found(codes, write, project):
    write({"main.py": MAIN, "steps.py": RIGHT})
    assert codes("main.py") == []
    write({"steps.py": WRONG})
    assert codes() == ["clip-before-unscale"]
    write({"steps.py": RIGHT})
    assert codes() == []
    (project / "steps.py").unlink()
    assert codes("main.py") == []


def test_a_neighbour_that_appears_is_followed(codes, write):
    write({"main.py": MAIN.replace("import clip", "import clip, other"), "lib/steps.py": WRONG})
    before = codes()
    write({"steps.py": WRONG})
    assert codes() != before


def test_a_neighbour_that_is_only_written_again_changes_nothing(write, project):
    write({"main.py": MAIN, "steps.py": RIGHT})
    assert loaded(project, "main.py") == {"libcst"}
    os.utime(project / "steps.py", (1, 1))
    assert loaded(project, "main.py") == set()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"key": 1}', '{"key": "x", "asked": [], "findings": []}'])
def test_a_damaged_cache_is_none(codes, write, project, content):
    write({"main.py": MAIN, "steps.py": WRONG})
    before = codes()
    entries = list((project / ".amplint_cache").glob("*.json"))
    assert entries
    for entry in entries:
        entry.write_text(content)
    assert codes() == before


def test_a_cache_that_cannot_be_written_is_none(codes, write, project):
    write({"main.py": MAIN, "steps.py": WRONG, "file": ""})
    assert codes("--cache-dir", "file/below") == codes("--no-cache") != []


def test_the_folder_is_chosen_and_git_passes_it_over(codes, write, project, monkeypatch):
    write({"main.py": MAIN, "steps.py": WRONG})
    codes("--cache-dir", "one")
    monkeypatch.setenv("AMPLINT_CACHE_DIR", "two")
    codes()
    assert (project / "one" / ".gitignore").read_text() == "*\n"
    assert (project / "two" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    assert not (project / ".amplint_cache").exists()
    codes("--no-cache", "--cache-dir", "three")
    assert not (project / "three").exists()
