"""Two processes on gloo: what the ranks do differently is found, on rank 0 and there alone."""

import json
import os
import subprocess
import sys

import pytest

from amplint.catalogue import RULES
from amplint.catalogue.examples import examples
from tests.runtime.ranks import WORLD, port, run_all

TOGETHER = ("ranks-disagree", "local-token-normalization", "averaged-twice-across-ranks")
PAGES = {
    f"{name}-{number}": one
    for name in TOGETHER
    for number, one in enumerate(examples(RULES[name].page), 1)
    if "static-only" not in one.words
}
MEANS = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(4, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    labels = torch.full((60,), -100).index_fill(0, torch.arange({tokens}), 1)
    F.cross_entropy(model(torch.randn(4, 15, 4)).view(-1, 3), labels).backward()
    optimizer.step()
dist.destroy_process_group()
"""
MEANT = {
    "means over 8 and 60 tokens": ("8 if dist.get_rank() else 60", ["13: local-token-normalization"]),
    "means over as many": ("20", []),
}
SYNCED = """\
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(4, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = [(torch.randn(8, 4), torch.randn(8, 3)) for _ in range(8)]
for i, (x, y) in enumerate(loader):
    boundary = (i + 1) % 4 == 0
    with {forward}:
        out = model(x)
    with {backward}:
        loss = nn.functional.mse_loss(out, y) / 4
        loss.backward()
    if boundary:
        optimizer.step()
        optimizer.zero_grad()
dist.destroy_process_group()
"""
NEVER, RIGHT, INVERTED = (
    "nullcontext()",
    "nullcontext() if boundary else model.no_sync()",
    "model.no_sync() if boundary else nullcontext()",
)
SYNCS = {
    "right": (RIGHT, RIGHT, []),
    "right at the forward, which decides": (RIGHT, NEVER, []),
    "never": (NEVER, NEVER, ["18: missing-no-sync"]),
    "inverted": (INVERTED, INVERTED, ["18: no-sync-on-boundary"]),
    "too late": (NEVER, RIGHT, ["18: forward-outside-no-sync"]),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What each rank's guard says of each program."""
    synced = {name: SYNCED.format(forward=one, backward=other) for name, (one, other, _) in SYNCS.items()}
    means = {name: MEANS.format(tokens=tokens) for name, (tokens, _) in MEANT.items()}
    return run_all({name: one.source for name, one in PAGES.items()} | synced | means, tmp_path_factory.mktemp("ranks"))


@pytest.mark.parametrize("name", SYNCS)
def test_every_rank_says_what_becomes_of_its_gradients(told, name):
    for one in told[name]:
        assert one["found"] == SYNCS[name][2], one


@pytest.mark.parametrize("name", MEANT)
def test_means_of_the_ranks_over_unlike_numbers_of_tokens_are_a_warning(told, name):
    first, _ = told[name]
    assert first["found"] == MEANT[name][1], first
    assert set(first["severities"]) <= {"warning"}


@pytest.mark.parametrize("name", sorted(PAGES))
def test_rank_0_finds_what_the_page_marks_and_nothing_else(told, name):
    first, second = told[name]
    marks = sorted(f"{row}: {rule}" for rule, row in PAGES[name].marked("expect"))
    assert first["found"] == marks, first
    assert second["found"] == []
    assert first["world_size"] == second["world_size"] == 2
    assert first["not_covered"] == second["not_covered"] == []


def test_ranks_that_are_started_one_by_one_do_not_write_over_each_others_reports(tmp_path):
    (tmp_path / "train.py").write_text(PAGES["ranks-disagree-1"].source, encoding="utf-8")
    started = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port()), "WORLD_SIZE": str(WORLD)}
    command = [sys.executable, "-m", "runtime_guard", "-q", "--mode", "record", "--report", "told.json", "train.py"]
    both = [
        subprocess.Popen(
            command, cwd=tmp_path, env={**os.environ, **started, "OMP_NUM_THREADS": "1", "RANK": str(rank)}
        )
        for rank in range(WORLD)
    ]
    assert [one.wait(timeout=200) for one in both] == [0, 0]
    first, second = (json.loads((tmp_path / name).read_text()) for name in ("told.json", "told.rank1.json"))
    assert [(one["code"], one["rank"]) for one in first["violations"]] == [("ranks-disagree", 0)]
    assert second["violations"] == []
