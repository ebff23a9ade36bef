"""Jobs of two processes under `torchrun`: one report tells of all ranks, from rank 0."""

import json
import os
import re
import subprocess
import sys

import pytest

PROGRAM = """\
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
net = nn.Linear(4, 3)
model = {wrapped}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(rank)
for step in range(3):
    {before}
    loss = nn.functional.mse_loss({called}(torch.randn(8, 4)), torch.randn(8, 3))
    loss.backward()
    {reduced}
    optimizer.step()
    optimizer.zero_grad()
torch.save([one.detach() for one in net.parameters()], os.environ["KEPT"] + str(rank))
{end}
"""
PLAIN = {"wrapped": "DistributedDataParallel(net)", "called": "model", "before": "pass", "reduced": "pass"}
DESTROYED = "dist.destroy_process_group()"
BY_HAND = "[(dist.all_reduce(one.grad), one.grad.div_(world)) for one in model.parameters()]"
RANK_0_ALONE = "model.module(torch.randn(8, 4)) if rank == 0 else None"
PROGRAMS = {
    "right": {},
    "evaluated on one rank, not destroyed": {"reduced": RANK_0_ALONE, "end": ""},
    "reduced by hand": {"wrapped": "net", "reduced": BY_HAND},
    "gone around": {"called": "model.module"},
    "died": {"before": "rank == 1 and step == 2 and os._exit(3)"},
}

TORCH_ITSELF = re.compile("EADDRINUSE|[Aa]ddress already in use|terminate called without an active exception")
"""What ends a job of torch 2.13 now and then, with a guard or without: the port that the launcher has chosen is taken
before its ranks bind it; a thread of gloo waits for the lock of an interpreter that has ended meanwhile."""


def run(name, folder, *guard):
    """The status of a job, and what rank 0 says in the terminal."""
    (folder / "train.py").write_text(PROGRAM.format(**{**PLAIN, "end": DESTROYED, **PROGRAMS[name]}), encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *guard]
    kept = str(folder / ("guarded" if guard else "plain"))
    for _ in range(3):
        done = subprocess.run(
            [*command, "train.py"],
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1", "KEPT": kept},
            capture_output=True,
            text=True,
            timeout=200,
        )
        if not TORCH_ITSELF.search(done.stderr):
            break
    return done.returncode, done.stderr


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """By program: the status of its job, its terminal, its page, and its report."""
    told = {}
    for name in PROGRAMS:
        folder = tmp_path_factory.mktemp("job")
        status, said = run(name, folder, "-m", "runtime_guard", "--report", "told.json", "--html", "told.html")
        page = (folder / "told.html").read_text(encoding="utf-8")
        told[name] = (status, said, page, json.loads((folder / "told.json").read_text(encoding="utf-8")), folder)
    return told


RIGHT = ["right", "evaluated on one rank, not destroyed", "reduced by hand"]


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_job_has_one_report_of_all_ranks(jobs, name):
    status, said, page, report, folder = jobs[name]
    assert (status, report["violations"], report["world_size"]) == (0, [], 2)
    assert [(one["rank"], one["missing"], one["windows"]["count"]) for one in report["ranks"]] == [
        (0, False, 3),
        (1, False, 3),
    ]
    assert report["weights_over_ranks"] == [{"name": "SGD#1", "sum": 2.0, "mean": 1.0}]
    assert said.count("runtime_guard\n") == 1
    assert "ranks: all 2: by itself, 3 windows of 1, weight 1.000" in said
    assert "all 2: by itself, 3 windows of 1, weight 1.000" in page
    assert (folder / "told.rank1.json").exists()


def test_gradients_that_are_reduced_by_hand_are_said_not_to_be_judged(jobs):
    report = jobs["reduced by hand"][3]
    assert [reason for reason in report["not_covered"] if "reduces over the ranks itself" in reason]
    assert jobs["right"][3]["not_covered"] == []


def test_copies_that_are_not_alike_as_the_forward_goes_around_the_wrapper_are_found(jobs):
    assert [one["code"] for one in jobs["gone around"][3]["violations"]] == ["forward-bypasses-ddp"]


def test_a_rank_that_died_is_named(jobs):
    status, said, page, report, _ = jobs["died"]
    assert status != 0
    assert [one for one in report["ranks"] if one["missing"]] == [{"rank": 1, "missing": True}]
    assert any(reason.startswith("rank 1: no word of it") for reason in report["not_covered"])
    assert "1: no word of it: it has died" in said
    assert "no word of it: it has died" in page


def test_every_rank_computes_what_it_would_without_the_guard(jobs):
    import torch

    folder = jobs["right"][4]
    status, said = run("right", folder)
    assert status == 0, said
    for rank in range(2):
        guarded, plain = (torch.load(folder / f"{name}{rank}") for name in ("guarded", "plain"))
        assert all(torch.equal(one, other) for one, other in zip(guarded, plain, strict=True))
