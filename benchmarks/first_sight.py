"""Precision and recall on repositories that nobody has linted before, from the rounds in `first-sight.json`.

    python benchmarks/first_sight.py    # writes benchmarks/first-sight.md anew

`rounds`: one entry a round, counted before anything was mended for it. `verdicts`: errors that were read, one by one.
`mistakes`: what readers had written down of one file a repository before they saw any output, and whether it was told.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

Counted = Callable[[Sequence[dict[str, Any]]], dict[str, str]]

HERE = Path(__file__).parent
DATA, PAGE = HERE / "first-sight.json", HERE / "first-sight.md"
HEAD = """\
# First sight

How often amplint is right, and how much it finds, in code that it has never been shown. This is made by
`python benchmarks/first_sight.py` from `benchmarks/first-sight.json`.

A round: repositories with training loops of their own are drawn by names and constructs, not by mistakes; mostly
research, course and competition code, at most one in five famous. None has been linted before. Of each, one file that
is chosen by a hash of the repository's name is read by somebody who knows the catalogue of rules, and has seen no
output; the mistakes are written down. Then everything is linted, once, and every error is read against its source:
*true*, *defensible* (a maintainer could go either way), or *false*. Only then is anything mended, so that the next
round counts it. A round that was mended for is a regression test from then on.

*Precision* is the share of errors that are true or defensible; *found* are the mistakes of tier error, written down
beforehand, that were told as errors within four lines; *silent* are the files without a mistake of that tier in which
no error was told.
"""


def page(data: dict[str, Any]) -> str:
    """The page as Markdown."""
    remarks = "".join(f"Of {one['round']} {one['remark']}.\n" for one in data["rounds"] if "remark" in one)
    parts = [HEAD, _rounds(data["rounds"]), *([remarks] if remarks else []), latest(data["rounds"])]
    parts += [_families("Errors that were read, by family", data["verdicts"], _verdicts)] if data["verdicts"] else []
    wrote = data["mistakes"]
    parts += [_families("Mistakes that were written down, by family", wrote, _found)] if wrote else []
    return "\n".join(parts)


def _rounds(rounds: Sequence[dict[str, Any]]) -> str:
    rows = [
        [one["round"], one["date"], str(one["repositories"]), *_errors([one]), _share([one], "written down", "found"),
         _share([one], "files without a mistake", "silent")]
        for one in rounds
    ]  # fmt: skip
    head = ["round", "date", "repositories", "errors", "true", "defensible", "false", "precision", "found", "silent"]
    return _table(head, rows)


def _errors(rounds: Sequence[dict[str, Any]]) -> list[str]:
    counts = Counter[str]()
    for one in rounds:
        counts.update(one["errors"])
    told = counts.total()
    right = f"{(told - counts['false']) / told:.2f}" if told else "-"
    return [str(told), str(counts["true"]), str(counts["defensible"]), str(counts["false"]), right]


def _share(rounds: Sequence[dict[str, Any]], what: str, which: str) -> str:
    counted = [one[what] for one in rounds if one[what] is not None]
    return f"{sum(one[which] for one in counted)} of {sum(one['of'] for one in counted)}" if counted else "-"


def latest(rounds: Sequence[dict[str, Any]]) -> str:
    """What the last two rounds say together, in a sentence."""
    last = rounds[-2:]
    told, true, defensible, false, precision = _errors(last)
    found, silent = _share(last, "written down", "found"), _share(last, "files without a mistake", "silent")
    names = " and ".join(one["round"] for one in last)
    return (
        f"The last two rounds ({names}) together: {told} errors, {true} of them true, {defensible} defensible and "
        f"{false} false (precision {precision}); {found} mistakes of tier error found; {silent} files without one "
        "silent.\n"
    )


def _families(title: str, rows: Sequence[dict[str, Any]], counted: Counted) -> str:
    """A table with a row for each family, of the rounds whose single findings are kept."""
    families: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        families.setdefault(row["family"], []).append(row)
    rounds = ", ".join(dict.fromkeys(row["round"] for row in rows))
    cells = [{"family": name, **counted(found)} for name, found in sorted(families.items())]
    return f"## {title}\n\nOf {rounds}.\n\n" + _table(list(cells[0]), [list(one.values()) for one in cells])


def _verdicts(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    counts = Counter(row["verdict"] for row in rows)
    return {name: str(counts[name]) for name in ("true", "defensible", "false")}


def _found(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    told = {tier: [row["found"] for row in rows if row["tier"] == tier] for tier in ("error", "warning")}
    return {f"{tier}s found": f"{sum(found)} of {len(found)}" for tier, found in told.items()}


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def read() -> dict[str, Any]:
    """The rounds and what was read in them."""
    data: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return data


if __name__ == "__main__":
    PAGE.write_text(page(read()), encoding="utf-8")
