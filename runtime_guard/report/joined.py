"""The reports of all ranks of a job as one: that of rank 0, with what the others have told.

Findings of other ranks stand with rank 0's, each with the ranks that met it. Beside each other stand the windows and
weights of every rank. Where gradients are averaged over the ranks, the mean of their weights is what the update got.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Part = Mapping[str, Any]
_SIDE_BY_SIDE = 16


def part_of(report: Part) -> dict[str, Any]:
    """What rank 0 is told of another rank."""
    names = ("ended", "windows", "steps", "violations", "not_covered", "off", "unfollowed", "unchecked")
    return {**{name: report[name] for name in names}, "optimizers": [_of(one) for one in report["optimizers"]]}


def _of(optimizer: Part) -> dict[str, Any]:
    return {name: optimizer.get(name) for name in ("name", "windows", "skipped", "weight_sum")}


def with_ranks(report: dict[str, Any], others: Mapping[int, Part], missing: Sequence[int]) -> dict[str, Any]:
    """The report of rank 0 with those of the others."""
    every = {0: part_of(report), **others}
    told = [_beside(rank, part) for rank, part in every.items()]
    absent = [{"rank": rank, "missing": True} for rank in missing]
    return {
        **report,
        "violations": _violations(every),
        "not_covered": [*report["not_covered"], *_apart("not_covered", report, others)],
        "off": [*report["off"], *_apart("off", report, others)],
        "ranks": sorted([*told, *absent], key=lambda one: int(one["rank"])),
        "weights_over_ranks": [] if missing else list(_weights(list(every.values()))),
    }


def _apart(name: str, report: Part, others: Mapping[int, Part]) -> Iterator[str]:
    """What is true of other ranks alone."""
    for rank, part in sorted(others.items()):
        yield from (f"rank {rank}: {entry}" for entry in part[name] if entry not in report[name])


def _beside(rank: int, part: Part) -> dict[str, Any]:
    return {
        "rank": rank,
        "missing": False,
        "ended": part["ended"],
        "windows": part["windows"],
        "weights": {one["name"]: _last(one) for one in part["optimizers"]},
        "violations": len(part["violations"]),
    }


def _last(optimizer: Part) -> float | None:
    """The sum of the weights of its last window, by the graph."""
    known = (optimizer.get("weight_sum") or {}).get("graph")
    return known.get("last") if known else None


def _violations(every: Mapping[int, Part]) -> list[dict[str, Any]]:
    """Each rule once per place, with the ranks that met it; the first of them gives the words."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for rank, part in every.items():
        for one in part["violations"]:
            key = one["site"]["file"], one["site"]["line"], one["code"]
            known = found.setdefault(key, {**one, "count": 0, "ranks": []})
            known["count"] += one["count"]
            known["ranks"].append(rank)
    return [found[key] for key in sorted(found)]


def _weights(parts: Sequence[Part]) -> Iterator[dict[str, Any]]:
    """Of each optimizer that all ranks have, the sum and the mean of their weights in the last window."""
    for one in parts[0]["optimizers"]:
        same = [other for part in parts for other in part["optimizers"] if other["name"] == one["name"]]
        weights = [weight for other in same if (weight := _last(other)) is not None]
        if len(weights) == len(parts):
            whole = sum(weights)
            yield {"name": one["name"], "sum": whole, "mean": whole / len(weights)}


def lines(report: Part) -> list[str]:
    """The ranks side by side, a line for each; of many, those that are not as rank 0."""
    ranks = report.get("ranks", ())
    said = [(one["rank"], line_of(one)) for one in ranks]
    if len({text for _, text in said}) == 1:
        found = [f"all {len(said)}: {said[0][1]}"]
    else:
        shown = said if len(said) <= _SIDE_BY_SIDE else [one for one in said if one[1] != said[0][1] or not one[0]]
        found = [f"{rank}: {text}" for rank, text in shown]
    means = [
        f"{one['name']}: the weights of all ranks add up to {one['sum']:.3f}, their mean is {one['mean']:.3f}"
        for one in report.get("weights_over_ranks", ())
    ]
    return [*found, *means] if ranks else []


def line_of(one: Part) -> str:
    """One rank in a line."""
    if one["missing"]:
        return "no word of it: it has died, or had not ended when this was written"
    windows = one["windows"]
    count, sizes = windows["count"], " or ".join(windows["micro_steps"])
    weights = [f"weight {weight:.3f}" for weight in one["weights"].values() if weight is not None]
    parts = [one["ended"]["told"], f"{count} window{'s'[: count != 1]}" + (f" of {sizes}" if sizes else ""), *weights]
    wrong = one["violations"]
    return ", ".join([*parts, f"{wrong} finding{'s'[: wrong != 1]}"] if wrong else parts)
