"""How long amplint takes on a tree of Python files, beside ruff or other versions of itself, in one run.

    python benchmarks/speed.py TREE [--runs 5] [--beside CHECKOUT ...]

All are timed as whole processes, in turn, and the ratio of the medians is what counts: a machine's speed drifts.
`CHECKOUT` is a folder that holds another version of the package `amplint`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

AMPLINT = [sys.executable, "-m", "amplint", "check", "--isolated", "--no-cache", "--exit-zero", "-q"]
RUFF = {
    "ruff (default rules)": [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--exit-zero", "-q"],
    "ruff (F rules)": [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--no-cache",
        "--exit-zero",
        "-q",
        "--select=F",
    ],
}


def seconds(command: list[str], tree: Path, package: Path | None = None) -> float:
    """Wall seconds of one run of a command over a tree. Raises CalledProcessError when it fails."""
    environment = os.environ if package is None else {**os.environ, "PYTHONPATH": str(package)}
    start = time.perf_counter()
    subprocess.run([*command, str(tree)], check=True, stdout=subprocess.DEVNULL, env=environment, cwd=tree.anchor)
    return time.perf_counter() - start


def main() -> None:
    """Prints a row per command: the median, the spread, and the ratio to amplint."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--beside", type=Path, nargs="*", metavar="CHECKOUT", help="in place of ruff")
    asked = parser.parse_args()
    here = Path(__file__).resolve().parents[1]
    others = {str(one): (AMPLINT, one.resolve()) for one in asked.beside or ()}
    commands = {"amplint": (AMPLINT, here), **(others or {name: (command, None) for name, command in RUFF.items()})}
    files = list(asked.tree.rglob("*.py"))
    size = sum(file.stat().st_size for file in files)
    print(f"{len(files)} files, {size / 1e6:.1f} MB, {asked.runs} runs after a warm-up")
    found: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(asked.runs + 1):
        for name, (command, package) in commands.items():
            taken = seconds(command, asked.tree.resolve(), package)
            if turn:
                found[name].append(taken)
    base = statistics.median(found["amplint"])
    for name, times in found.items():
        median = statistics.median(times)
        spread = f"({min(times):.2f} to {max(times):.2f})"
        print(f"{name:22} {median:7.2f} s  {spread}  amplint takes {base / median:.2f} times")


if __name__ == "__main__":
    main()
