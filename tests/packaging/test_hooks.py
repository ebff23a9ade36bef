"""The hooks as pre-commit really installs and runs them, in a repository made for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clipped import BAD, GOOD

pytestmark = pytest.mark.network

ROOT = Path(__file__).parents[2]
PARTS = ("amplint", "runtime_guard", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")


def git(folder, *words):
    person = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *person, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The project as a repository that a configuration can name."""
    folder = tmp_path_factory.mktemp("amplint")
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, folder / part)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "x")
    git(folder, "tag", "v0")
    return folder


@pytest.fixture
def hook(published, tmp_path, tmp_path_factory):
    """pre-commit over files of a fresh repository: its exit code and what it says."""
    home = tmp_path_factory.getbasetemp() / "pre-commit"

    def run(name, files):
        git(tmp_path, "init", "-q")
        repository = {"repo": str(published), "rev": "v0", "hooks": [{"id": name}]}
        (tmp_path / ".pre-commit-config.yaml").write_text(json.dumps({"repos": [repository]}))
        for path, text in files.items():
            (tmp_path / path).write_text(text)
        git(tmp_path, "add", "-A")
        ended = subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", "--all-files"],
            cwd=tmp_path,
            env={**os.environ, "PRE_COMMIT_HOME": str(home)},
            capture_output=True,
            text=True,
        )
        return ended.returncode, ended.stdout + ended.stderr

    return run


def test_the_hook_stops_a_commit_with_a_mistake_and_lets_the_right_one_pass(hook):
    code, said = hook("amplint", {"train.py": BAD})
    assert code == 1
    assert "error[clip-before-unscale]" in said
    code, said = hook("amplint", {"train.py": GOOD})
    assert (code, "Passed" in said) == (0, True)


def test_the_hook_reads_notebooks_and_obeys_excludes(hook):
    cells = [{"cell_type": "code", "source": BAD, "metadata": {}, "outputs": [], "execution_count": None}]
    notebook = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    code, said = hook("amplint", {"train.ipynb": notebook})
    assert (code, "cell 1" in said) == (1, True)
    code, said = hook("amplint", {"pyproject.toml": '[tool.amplint]\nexclude = ["*.ipynb"]\n'})
    assert code == 0, said


def test_the_hook_passes_where_there_is_nothing_to_check(hook):
    code, said = hook("amplint", {"README.md": "nothing\n"})
    assert (code, "Skipped" in said) == (0, True)


def test_the_mending_hook_mends_and_then_passes(hook, tmp_path):
    code, said = hook("amplint-fix", {"train.py": BAD})
    assert code == 1, said
    assert (tmp_path / "train.py").read_text() == GOOD
    code, said = hook("amplint-fix", {})
    assert (code, "Passed" in said) == (0, True)
