"""Children that `torch.multiprocessing.spawn` starts are guarded too, and their parts are joined."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime_guard.spawned import VARIABLE, collected, joined, reaching_children
from tests.runtime.forked import run_module

ROOT = Path(__file__).parents[2]

SPAWNING = """
import sys

import torch
from torch import nn
from torch.multiprocessing import spawn


def work(rank, wrong):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(torch.randn(4, 4)), torch.randint(2, (4,)))
        loss.backward()
        optimizer.step()
        if rank == wrong:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # clip-after-step
        optimizer.zero_grad()


if __name__ == "__main__":
    assert sys.argv[1:] == ["an", "argument"]
    spawn(work, args=(1,), nprocs=2)
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of a parent and two children, with a `sitecustomize` of their own: outcome, report, who ran the latter."""
    folder = tmp_path_factory.mktemp("spawning")
    (folder / "train.py").write_text(SPAWNING)
    (folder / "own").mkdir()
    (folder / "own" / "sitecustomize.py").write_text("import os\nopen(os.environ['MARK'], 'a').write('x')\n")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(folder / "own"), str(ROOT))),
        "OMP_NUM_THREADS": "1",
        "MARK": str(folder / "mark"),
    }
    options = ["--mode", "record", "--report", "report.json", "--exit-code", "7"]
    command = [sys.executable, "-m", "runtime_guard", *options, "train.py", "an", "argument"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, timeout=300)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return done, report, (folder / "mark").read_text()


def test_a_mistake_in_one_child_is_in_the_report_with_its_rank(run):
    done, report, _ = run
    (found,) = report["violations"]
    assert (found["code"], found["site"]["line"], found["rank"]) == ("clip-after-step", 17, 1), done.stderr
    assert report["windows"]["count"] == 6  # three of each child
    assert report["not_covered"] == []
    assert "error[clip-after-step]" in done.stderr


def test_an_error_in_a_child_counts_for_the_exit_code(run):
    done, _, _ = run
    assert done.returncode == 7, done.stderr


def test_a_sitecustomize_of_the_user_is_still_run(run):
    _, _, mark = run
    assert len(mark) >= 3  # the parent and both children


def test_the_environment_is_as_it_was_afterwards(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "mine")
    before = dict(os.environ)
    with reaching_children(tmp_path, {"mode": "record"}):
        assert os.environ["PYTHONPATH"].endswith(f"children{os.pathsep}mine")
        assert json.loads(os.environ[VARIABLE])["options"] == {"mode": "record"}
    assert dict(os.environ) == before


def part(rank, count, line=3):
    site = {"file": "a.py", "line": line}
    violation = {"code": "clip-after-step", "site": site, "count": count, "rank": rank, "severity": "error"}
    return {
        "violations": [violation],
        "windows": {"count": 2, "micro_steps": {"4": 1, "10": 1}, "effective_lr_multiplier": 1.0},
        "curves": {"loss_scale": {"GradScaler": [[1, float(rank)]]}},
        "not_covered": ["a graph"],
        "optimizers": [{"name": f"SGD of {rank}"}],
    }


def test_parts_are_added_up():
    whole = joined(part(0, 1), [part(1, 2), part(2, 3, line=9)])
    assert [(one["site"]["line"], one["count"], one["rank"]) for one in whole["violations"]] == [(3, 3, 0), (9, 3, 2)]
    assert whole["windows"] == {"count": 6, "micro_steps": {"4": 3, "10": 3}, "effective_lr_multiplier": 1.0}
    assert sorted(whole["curves"]["loss_scale"]) == ["GradScaler", "GradScaler of child 1", "GradScaler of child 2"]
    assert whole["not_covered"] == ["a graph"]
    assert len(whole["optimizers"]) == 3


def test_a_report_without_children_is_left_alone():
    alone = part(0, 1)
    assert joined(alone, []) == alone


def test_a_child_that_never_ended_is_said(tmp_path):
    (tmp_path / "12.begun").touch()
    (tmp_path / "13.begun").touch()
    (tmp_path / "14.json").write_text(json.dumps(part(1, 1)))
    parts = collected(tmp_path)
    assert joined(part(0, 1), parts)["not_covered"] == ["a graph", "2 child processes ended without a report"]


@pytest.mark.parametrize("name", ["begun", "json"])
def test_an_empty_folder_has_no_parts(tmp_path, name):
    (tmp_path / f"x.{name}.tmp").touch()
    assert collected(tmp_path) == []


FORKING = """
import torch
from torch import multiprocessing, nn
from torch.utils.data import DataLoader


def work(rank, optimizer):
    for batch in range(4):
        nn.functional.cross_entropy(model(torch.randn(4, 4)), torch.randint(2, (4,))).backward()
        if batch % 2:
            optimizer.step()
            optimizer.zero_grad()


model = nn.Linear(4, 2)
known = torch.optim.SGD(model.parameters(), lr=0.1)
context = multiprocessing.get_context("fork")
children = [context.Process(target=work, args=(rank, known)) for rank in range(2)]
idle = context.Process(target=print)
for child in (*children, idle):
    child.start()
for child in (*children, idle):
    child.join()
assert [child.exitcode for child in (*children, idle)] == [0, 0, 0]
assert len(list(DataLoader(list(range(4)), num_workers=1, multiprocessing_context="fork"))) == 4
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing is forked there")
def test_forked_children_have_guards_of_their_own_and_workers_have_none(tmp_path):
    (tmp_path / "train.py").write_text(FORKING)
    done = run_module("runtime_guard", ["--mode", "record", "--report", "report.json", "train.py"], tmp_path)
    assert done.status == 0, done.stderr
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert [(one["code"], one["site"]["line"]) for one in report["violations"]] == [("missing-loss-division", 9)]
    assert report["windows"]["micro_steps"] == {"2": 4}  # two of each child
    assert report["not_covered"] == []
