"""What was read held against what was run: each finding confirmed, refuted or not reached by a guarded run.

A run confirms a finding when the guard met the same mistake there. It refutes one when it went through the places of
the finding, completed windows, judged that rule, and met no such mistake there. Everything else was not reached: a run
says nothing of a rule that it cannot judge, of a file that has changed since, of a line that it never came to, and of
settings that it did not have.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from amplint.catalogue import RULES
from amplint.findings import Finding, Live, Place, Severity, Witness
from amplint.settings import SettingsError

SCHEMA = 1
TWICE = 2  # windows that a run needs to refute anything: most mistakes show in the second at the latest


@dataclass(frozen=True)
class Run:
    """A guard's report, as far as findings are held against it. Paths are real paths."""

    windows: int
    violations: tuple[dict[str, Any], ...]
    rows: dict[str, frozenset[int]]
    digests: dict[str, str]
    judged: frozenset[str]


def read(path: Path) -> Run:
    """The report of a file. Raises SettingsError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"the runtime report {path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise SettingsError(f"the runtime report {path} is not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA or "files" not in document:
        advice = "write one with `python -m runtime_guard --report FILE SCRIPT`"
        raise SettingsError(f"{path} is not a report of runtime_guard that amplint can read; {advice}")
    return run_of(document)


def run_of(document: dict[str, Any]) -> Run:
    """A guard's report as it came from the guard."""
    files = {os.path.realpath(name): seen for name, seen in document["files"].items()}
    live = {name for name, rule in RULES.items() if rule.when or rule.observe}
    return Run(
        windows=document["windows"]["count"],
        violations=tuple(document["violations"]),
        rows={name: frozenset(seen["rows"]) for name, seen in files.items()},
        digests={name: seen["sha256"] for name, seen in files.items()},
        judged=frozenset(live & {*document.get("rules", live), *document.get("rules_out_of_reach", ())}),
    )


def held_against(run: Run, findings: Sequence[Finding], files: Iterable[str]) -> tuple[Finding, ...]:
    """The findings with what the run says of each, and those that only the run has, in the files that were asked."""
    told: list[Finding] = []
    met: set[int] = set()
    for finding in findings:
        found = {at for at, one in enumerate(run.violations) if _same(finding, one)}
        met |= found
        told.append(replace(finding, live=_live(run, finding, [run.violations[at] for at in sorted(found)])))
    shown = {os.path.realpath(name): name for name in files}
    known = {(os.path.realpath(finding.filename), finding.code, finding.place.row) for finding in findings}
    for at, one in enumerate(run.violations):
        path = os.path.realpath(one["site"]["file"])
        if at not in met and path in shown and (path, one["code"], one["site"]["line"]) not in known:
            told.append(_alone(shown[path], one))
    return tuple(sorted(told, key=lambda finding: finding.order))


def _same(finding: Finding, violation: dict[str, Any]) -> bool:
    """Whether a violation is the mistake of a finding: the same rule, and a place that both name."""
    if violation["code"] != finding.code:
        return False
    places = [(finding.filename, finding.place)]
    places += [(event.filename or finding.filename, event.place) for event in finding.witness]
    rows = {(os.path.realpath(name), row) for name, place in places for row in range(place.row, place.end_row + 1)}
    sites = [violation["site"], *violation.get("witness", ())]
    return any((os.path.realpath(site["file"]), site["line"]) in rows for site in sites)


def _live(run: Run, finding: Finding, violations: list[dict[str, Any]]) -> Live:
    if violations:
        first = violations[0]
        times = "once" if first["count"] == 1 else f"{first['count']} times"
        return Live("confirmed", f"{first['message']} ({times})")
    path = os.path.realpath(finding.filename)
    if path not in run.rows:
        return Live("not reached", "the run did not come to this file")
    if _digest(path) != run.digests[path]:
        return Live("not reached", "the file has changed since the run")
    if finding.code not in run.judged:
        return Live("not reached", "a run does not judge this rule")
    if finding.place.cell is not None or not _went_through(run, finding):
        return Live("not reached", "the run did not come to this line")
    if finding.conditional:
        return Live("not reached", "the run may have had other settings than those that it needs")
    if run.windows < TWICE:
        return Live("not reached", "the run ended before its second window was complete")
    hiding = {name for one in run.violations for name in RULES[one["code"]].hides if one["code"] in RULES}
    if finding.code in hiding:
        return Live("not reached", "another mistake of the run hides this one")
    return Live("refuted", f"{run.windows} windows went through this line without this mistake")


def _went_through(run: Run, finding: Finding) -> bool:
    """Whether the run came to the finding, or, where that is no event but a condition, to all that led to it."""
    here = run.rows[os.path.realpath(finding.filename)]
    if any(row in here for row in range(finding.place.row, finding.place.end_row + 1)):
        return True
    earlier = [(os.path.realpath(event.filename or finding.filename), event.place.row) for event in finding.witness]
    return bool(earlier) and all(row in run.rows.get(path, ()) for path, row in earlier)


def _digest(path: str) -> str:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return ""


def _alone(filename: str, violation: dict[str, Any]) -> Finding:
    """What only the run has met, as a finding at its line."""
    row = violation["site"]["line"]
    witness = tuple(
        Witness(_row(event["line"]), event["event"], None if _is(event["file"], filename) else event["file"])
        for event in violation.get("witness", ())
    )
    severity = Severity.ERROR if violation["severity"] == "error" else Severity.WARNING
    told = (violation["message"], violation.get("advice", ""))
    times = f"met {violation['count']} time{'' if violation['count'] == 1 else 's'} by the run"
    return Finding(filename, _row(row), violation["code"], severity, *told, witness, live=Live("live only", times))


def _is(path: str, filename: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(filename)


def _row(row: int) -> Place:
    return Place(row, 1, row, 1)
