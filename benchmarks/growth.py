"""How the CPU seconds of amplint grow with the size of a file, its open conditions and the files that import it.

    python benchmarks/growth.py [--runs 3] [--beside CHECKOUT]

Each program is made here: one training loop, with more functions beside it, more conditions in it that nobody can
decide, or more files that call it. All sizes are run in turn, as whole processes, and each time is that of the smallest
program of its row times a number: a row that doubles with its size is linear. What a process needs to start is measured
with a file that holds no training step, and taken off.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

AMPLINT = [sys.executable, "-m", "amplint", "check", "--isolated", "--no-cache", "--exit-zero", "-q"]
LOOP = """import torch


def train(model, loader, optimizer, criterion, args):
    model.train()
    for step, (x, y) in enumerate(loader):
{conditions}        loss = criterion(model(x), y)
        loss.backward()
        if (step + 1) % args.accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
"""
BESIDE = """

def helper_{at}(values, scale):
    total = 0
    for value in values:
        if value > scale:
            total += value * scale
    return total / len(values)
"""
CONDITION = """        if args.option_{at}:
            x = args.transform_{at}(x)
"""
CALLER = """from train import train


def main_{at}(model, loader, optimizer, criterion, args):
    for epoch in range(args.epochs):
        train(model, loader, optimizer, criterion, args)
"""


def sized(size: int) -> dict[str, str]:
    """A training loop and so many functions beside it."""
    return {"train.py": LOOP.format(conditions="") + "".join(BESIDE.format(at=at) for at in range(size))}


def conditional(size: int) -> dict[str, str]:
    """A training loop with so many conditions."""
    return {"train.py": LOOP.format(conditions="".join(CONDITION.format(at=at) for at in range(size)))}


def imported(size: int) -> dict[str, str]:
    """A training loop that so many other files call."""
    return {"train.py": LOOP.format(conditions=""), **{f"main_{at}.py": CALLER.format(at=at) for at in range(size)}}


ROWS: Mapping[str, tuple[Callable[[int], dict[str, str]], tuple[int, ...]]] = {
    "functions beside the loop": (sized, (25, 50, 100, 200, 400)),
    "open conditions in the loop": (conditional, (1, 2, 4, 8, 16)),
    "files that import it": (imported, (1, 2, 4, 8, 16)),
}


def seconds(files: Mapping[str, str], package: Path) -> float:
    """CPU seconds of one run over the first of some files, beside the others. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        environment = {**os.environ, "PYTHONPATH": str(package)}
        command = [*AMPLINT, next(iter(files))]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment, cwd=folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def grown(package: Path, runs: int) -> dict[str, list[float]]:
    """The median of the seconds of each size of each row, without what a process needs to start."""
    idle = [seconds({"empty.py": "import torch\n"}, package) for _ in range(runs)]
    found: dict[str, list[list[float]]] = {name: [[] for _ in sizes] for name, (_, sizes) in ROWS.items()}
    for _ in range(runs):
        for name, (make, sizes) in ROWS.items():
            for times, size in zip(found[name], sizes, strict=True):
                times.append(seconds(make(size), package))
    return {
        name: [max(statistics.median(times) - statistics.median(idle), 0.001) for times in rows]
        for name, rows in found.items()
    }


def main() -> None:
    """Prints a table in Markdown: a row for what grows, a column for each size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--beside", type=Path, nargs="*", default=[], metavar="CHECKOUT")
    asked = parser.parse_args()
    here = Path(__file__).resolve().parents[1]
    print("| what grows | sizes | time, of the smallest | bars |")
    print("|---|---|---|---|")
    for package in (here, *(one.resolve() for one in asked.beside)):
        for name, times in grown(package, asked.runs).items():
            sizes = ", ".join(map(str, ROWS[name][1]))
            ratios = [time / times[0] for time in times]
            bars = " ".join("█" * max(1, round(one)) for one in ratios)
            print(f"| {name} | {sizes} | {', '.join(f'{one:.1f}' for one in ratios)} | {bars} |")


if __name__ == "__main__":
    main()
