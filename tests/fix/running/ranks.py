"""Programs of two ranks, run under DDP over gloo: all of them in two processes that are started once."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from tests.fix.running.programs import Program
from tests.fix.running.stage import Outcome, outcome

WORLD = 2
SECONDS = 120.0  # far more than all programs need
Key = tuple[str, str, int]


def outcomes_of_ranks(programs: Sequence[Program], versions: Sequence[str], folder: Path) -> dict[Key, list[Outcome]]:
    """What every version of some programs has computed on each rank. Raises TimeoutError when a rank does not end."""
    from torch.multiprocessing import spawn

    ranks = spawn(_work, args=(tuple(programs), tuple(versions), str(folder)), nprocs=WORLD, join=False)
    end = time.monotonic() + SECONDS
    while not ranks.join(timeout=1.0):
        if time.monotonic() > end:
            for process in ranks.processes:
                process.kill()
            raise TimeoutError(f"a rank has not ended after {SECONDS:.0f} s")
    found = [torch.load(folder / f"rank-{rank}.pt", weights_only=True) for rank in range(WORLD)]
    return {key: [one[key] for one in found] for key in found[0]}


def _work(rank: int, programs: tuple[Program, ...], versions: tuple[str, ...], folder: str) -> None:
    """One rank. Nothing is collected while it runs: reducers of torch 2.13 may wait for each other then."""
    torch.set_num_threads(1)
    top = Path(folder)
    meeting = (top / "meeting").as_uri()  # a file: a port that nobody uses now may be used in a moment
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=WORLD)
    found: dict[Key, Outcome] = {}
    for program in programs:
        for version in versions:
            for number, flags in enumerate(program.combinations):
                found[program.name, version, number] = outcome(top / version / program.name, flags, rank)
    torch.save(found, top / f"rank-{rank}.pt")
    torch.distributed.barrier()
    os._exit(0)
