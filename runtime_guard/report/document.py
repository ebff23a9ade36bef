"""The guard's report as JSON, in the form that the design fixes; what pages and plugins read."""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING, Any

import torch

from amplint.catalogue import RULES
from amplint.protocol.events import Site
from runtime_guard import measured
from runtime_guard.accounting import accounts
from runtime_guard.applicable import out_of_reach
from runtime_guard.report.joined import with_ranks
from runtime_guard.report.reached import reached
from runtime_guard.report.terminal import is_right, seen
from runtime_guard.unchecked import copies, unfollowed, why_unchecked
from runtime_guard.violations import Violation

if TYPE_CHECKING:
    from runtime_guard.guarding import guard
    from runtime_guard.recorder import Recorder
    from runtime_guard.tally import Tally

SCHEMA = 1


def document(of: guard, wait: bool = True) -> dict[str, Any]:
    """Everything that was seen, as plain values. `wait`: for numbers that are on their way from a device."""
    recorder, tally = of.recorder, of.recorder.tally
    recorder.ranks.look()
    recorder.measures.run(recorder.numbers.settle, wait)
    off, loose = list(of.off), unfollowed(tally)
    unheard = [recorder.ranks.not_covered] if recorder.ranks.not_covered else []
    numbers = recorder.measures.run(measured.as_json, recorder.numbers, default={})
    unmeasured = numbers.get("not_covered", ())
    functions = {site: code.co_name for site, code in recorder.sites.code_of.items()}
    told = seen(of, of.violations)
    series = recorder.measures.run(measured.series, recorder.numbers, default={})
    report = {
        "schema": SCHEMA,
        "ended": of.ending.as_json(),
        "off": off,
        "unchecked": why_unchecked(off, loose, tally.windows, tally.steps),
        "torch": torch.__version__,
        "world_size": recorder.ranks.world_size,
        "rank": recorder.ranks.rank,
        "mode": of.mode,
        "violations": [_violation(one, functions, recorder.ranks.rank) for one in of.violations],
        "steps": tally.steps,
        "windows": _windows(tally, numbers),
        "optimizers": numbers.get("optimizers", [{"name": name} for name in tally.optimizers.values()]),
        "scalers": numbers.get("scalers", []),
        "schedulers": [{"name": kind, "steps": steps} for kind, steps in tally.schedulers.values()],
        "unfollowed": loose,
        "not_covered": list(dict.fromkeys([*loose, *_copied(recorder), *tally.not_covered, *unmeasured, *unheard])),
        **_rules(of),
        "files": reached(recorder.sites.code_of),
        "passes": accounts(tally),
        "seen": told,
        "confirmed": told if is_right(of, of.violations) else [],
        "timeline": _timeline(recorder, functions),
        "curves": _curves(series),
    }
    ranks = recorder.ranks
    return with_ranks(report, ranks.others, ranks.missing) if ranks.others or ranks.missing else report


def _rules(of: guard) -> dict[str, Any]:
    """The rules that this run could have broken, and why not the others."""
    recorder, asked = of.recorder, (RULES[name] for name in of.rules)
    idle = out_of_reach(asked, recorder.tally.kinds, recorder.ranks.world_size, recorder.measures.on)
    return {"rules": [name for name in of.rules if name not in idle], "rules_out_of_reach": idle}


def _windows(tally: Tally, numbers: dict[str, Any]) -> dict[str, Any]:
    return {
        "count": tally.windows,
        "micro_steps": {str(length): count for length, count in sorted(tally.lengths.items())},
        "effective_lr_multiplier": numbers.get("windows", {}).get("effective_lr_multiplier"),
    }


def _timeline(recorder: Recorder, functions: dict[Site, str]) -> list[dict[str, Any]]:
    lines, names = recorder.course.timelines.as_json(functions), recorder.tally.optimizers
    return [{**line, "optimizer": _named(line["optimizer"], names)} for line in lines]


def _copied(recorder: Recorder) -> list[str]:
    """What is not known of optimizers that step copies, or gradients that are gathered elsewhere."""
    known = {name for thing, name in recorder.optimizers.living() if recorder.numbers.known(thing)}
    return copies(recorder.tally, recorder.watches, known)


def _named(name: str, kinds: dict[str, str]) -> str:
    """`SGD#1` for `optimizer#1`, as the numbers name it."""
    return name.replace("optimizer", kinds.get(name, "optimizer"), 1)


def _violation(one: Violation, functions: dict[Site, str], rank: int) -> dict[str, Any]:
    first = one.previous[0] if one.previous else None
    return {
        "code": one.code,
        "severity": one.severity,
        "message": one.message,
        "advice": one.advice,
        "site": _place(one.site, functions),
        "previous": None if first is None else {"event": first.event, **_place(first.site, functions)},
        "witness": [{"event": earlier.event, **_place(earlier.site, functions)} for earlier in one.previous],
        "window": one.window,
        "count": one.count,
        "windows": one.windows,
        "rank": rank,
    }


def _place(site: Site, functions: dict[Site, str]) -> dict[str, Any]:
    source = linecache.getline(site.path, site.row).strip()
    return {"file": site.path, "line": site.row, "function": functions.get(site, ""), "source": source or None}


def _curves(series: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, points in series.items():
        owner, _, curve = name.rpartition("/")
        found.setdefault(curve, {})[owner] = [list(point) for point in points]
    return found
