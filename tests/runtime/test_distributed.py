"""Two processes on gloo: what the ranks do differently is found, on rank 0 and there alone."""

import json
import os
import subprocess
import sys

import pytest

from amplint.catalogue import RULES
from amplint.catalogue.examples import examples
from tests.runtime.ranks import WORLD, ports, run_all

TOGETHER = ("ranks-disagree", "local-token-normalization")
PAGES = {f"{name}-{number}": one for name in TOGETHER for number, one in enumerate(examples(RULES[name].page), 1)}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What each rank's guard says of each program."""
    return run_all({name: one.source for name, one in PAGES.items()}, tmp_path_factory.mktemp("ranks"))


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
    started = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(ports(1)[0]), "WORLD_SIZE": str(WORLD)}
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
