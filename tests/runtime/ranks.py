"""Programs of several processes, each under a guard of its own, on gloo and the CPU."""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from pathlib import Path
from random import SystemRandom
from typing import Any

WORLD = 2
SECONDS = 120.0  # far more than all programs need
_BEGIN = 'init_process_group("gloo")'
_KEPT: list[dict[str, Any]] = []
"""What the programs have made. torch 2.13 joins gloo's threads in the destructor of a reducer while it holds the
interpreter's lock, and such a thread may be waiting for it: nothing is destroyed before the process ends."""


def run_all(programs: dict[str, str], folder: Path, plain: bool = False) -> dict[str, list[dict[str, Any]]]:
    """What the guard of each rank has to say of each program: rows and rules, ranks, what was not covered.

    `plain`: each runs once more without a guard, and `same` says whether the parameters of its `model` are.

    Raises TimeoutError when a rank does not end.
    """
    from torch.multiprocessing import spawn

    (folder / "programs.json").write_text(json.dumps({"programs": programs, "plain": plain}), encoding="utf-8")
    ranks = spawn(_work, args=(str(folder),), nprocs=WORLD, join=False)
    end = time.monotonic() + SECONDS
    while not ranks.join(timeout=1.0):
        if time.monotonic() > end:
            for process in ranks.processes:
                process.kill()
            raise TimeoutError(f"a rank has not ended after {SECONDS:.0f} s")
    told = [json.loads((folder / f"told-{rank}.json").read_text(encoding="utf-8")) for rank in range(WORLD)]
    return {name: [one[name] for one in told] for name in programs}


def port() -> int:
    """A port of this machine that nobody uses now, of those that Linux gives to nobody by itself (below 32768)."""
    for one in SystemRandom().sample(range(20000, 32768), 50):
        try:
            with socket.create_server(("127.0.0.1", one)):
                return one
        except OSError:
            continue
    raise OSError("no port is free between 20000 and 32767")


def _work(rank: int, folder: str) -> None:
    import torch

    torch.set_num_threads(1)
    here = Path(folder)
    given = json.loads((here / "programs.json").read_text(encoding="utf-8"))
    told = {name: _guarded(source, name, rank, here) for name, source in given["programs"].items()}
    for name, source in given["programs"].items() if given["plain"] else ():
        after = told[name].pop("parameters")
        told[name]["same"] = after == _parameters(_run(source, f"plain-{name}", rank, here))
    (here / f"told-{rank}.json").write_text(json.dumps(told), encoding="utf-8")
    os._exit(0)


def _guarded(source: str, name: str, rank: int, folder: Path) -> dict[str, Any]:
    from runtime_guard import guard

    with guard(mode="record") as found:
        made = _run(source, name, rank, folder)
    report = found.report()
    return {
        "found": [f"{one['site']['line']}: {one['code']}" for one in report["violations"]],
        "severities": [one["severity"] for one in report["violations"]],
        "messages": [one["message"] for one in report["violations"]],
        "ranks": sorted({one["rank"] for one in report["violations"]}),
        "world_size": report["world_size"],
        "not_covered": report["not_covered"],
        "micro_steps": report["windows"]["micro_steps"],
        "weight": [one.get("weight_sum", {}).get("graph") for one in report["optimizers"]],
        "parameters": _parameters(made),
    }


def _parameters(made: dict[str, Any]) -> list[list[float]] | None:
    """The numbers that a program's model has on this rank in the end; None if it names none."""
    if "model" not in made:
        return None
    shards = [getattr(one.detach(), "_local_tensor", one.detach()) for one in made["model"].parameters()]
    return [one.flatten().tolist() for one in shards]


def _run(source: str, name: str, rank: int, folder: Path) -> dict[str, Any]:
    """What a program has made."""
    meeting = (folder / f"{name}.meeting").as_uri()  # a file: a port that nobody uses now may be used in a moment
    begin = f'init_process_group("gloo", init_method="{meeting}", rank={rank}, world_size={WORLD})'
    file = folder / f"{name}.py"
    text = source.replace(_BEGIN, begin)
    file.write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _KEPT.append({"__name__": "__main__"})
        exec(compile(text, str(file), "exec"), _KEPT[-1])
    return _KEPT[-1]
