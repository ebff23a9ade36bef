"""Programs of several processes, each under a guard of its own, on gloo and the CPU."""

from __future__ import annotations

import json
import socket
import warnings
from pathlib import Path
from typing import Any

WORLD = 2
_BEGIN = 'init_process_group("gloo")'


def run_all(programs: dict[str, str], folder: Path) -> dict[str, list[dict[str, Any]]]:
    """What the guard of each rank has to say of each program: rows and rules, ranks, what was not covered."""
    from torch.multiprocessing import spawn

    ported = {name: (source, port) for (name, source), port in zip(programs.items(), ports(len(programs)), strict=True)}
    (folder / "programs.json").write_text(json.dumps(ported), encoding="utf-8")
    spawn(_work, args=(str(folder),), nprocs=WORLD)
    told = [json.loads((folder / f"told-{rank}.json").read_text(encoding="utf-8")) for rank in range(WORLD)]
    return {name: [one[name] for one in told] for name in programs}


def ports(count: int) -> list[int]:
    """As many ports of this machine, which nobody uses now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return found


def _work(rank: int, folder: str) -> None:
    import torch

    torch.set_num_threads(1)
    here = Path(folder)
    programs = json.loads((here / "programs.json").read_text(encoding="utf-8"))
    told = {name: _guarded(source, name, port, rank, here) for name, (source, port) in programs.items()}
    (here / f"told-{rank}.json").write_text(json.dumps(told), encoding="utf-8")


def _guarded(source: str, name: str, port: int, rank: int, folder: Path) -> dict[str, Any]:
    from runtime_guard import guard

    begin = f'init_process_group("gloo", init_method="tcp://127.0.0.1:{port}", rank={rank}, world_size={WORLD})'
    file = folder / f"{name}.py"
    text = source.replace(_BEGIN, begin)
    file.write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with guard(mode="record") as found:
            exec(compile(text, str(file), "exec"), {"__name__": "__main__"})
    report = found.report()
    return {
        "found": [f"{one['site']['line']}: {one['code']}" for one in report["violations"]],
        "messages": [one["message"] for one in report["violations"]],
        "ranks": sorted({one["rank"] for one in report["violations"]}),
        "world_size": report["world_size"],
        "not_covered": report["not_covered"],
    }
