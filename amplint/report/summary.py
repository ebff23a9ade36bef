"""The last line of a run, and the counts for each rule."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from amplint.findings import Finding, Severity


def summary(findings: Iterable[Finding]) -> str:
    """What was found, in one line."""
    found = list(findings)
    if not found:
        return "All checks passed!"
    kinds = Counter(finding.severity for finding in found)
    parts = [counted(kinds[kind], kind.value) for kind in Severity if kinds[kind]]
    return f"Found {' and '.join(parts)} in {counted(len({finding.filename for finding in found}), 'file')}."


def statistics(findings: Iterable[Finding]) -> str:
    """How often each rule speaks, most often first, as a table; empty if none does."""
    rows = _counts(findings)
    width = max((len(str(count)) for _, _, count in rows), default=0)
    return "".join(f"{count:>{width}}  {kind:<7}  {code}\n" for code, kind, count in rows)


def statistics_json(findings: Iterable[Finding]) -> str:
    """The same counts as a JSON list."""
    rows = [{"code": code, "severity": kind, "count": count} for code, kind, count in _counts(findings)]
    return json.dumps(rows, indent=2) + "\n"


def _counts(findings: Iterable[Finding]) -> list[tuple[str, str, int]]:
    tally = Counter((finding.code, finding.severity.value) for finding in findings)
    return [(*key, count) for key, count in sorted(tally.items(), key=lambda item: (-item[1], item[0]))]


def counted(number: int, what: str) -> str:
    """A number and what it counts, in the singular or the plural."""
    return f"{number} {what}{'' if number == 1 else 's'}"
