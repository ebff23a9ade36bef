"""The last line of a run, and the counts for each rule."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from amplint.findings import Finding, Severity


def summary(findings: Iterable[Finding], mended: Collection[Finding] = (), unsafe: bool = False) -> str:
    """What was found, what was mended of it, and what could be; in one line or two. `unsafe`: with unsafe fixes."""
    found = list(findings)
    fixed = f"Fixed {counted(len(mended), 'finding')}. " if mended else ""
    if not found:
        return f"{fixed}All checks passed!"
    kinds = Counter(finding.severity for finding in found)
    parts = [counted(kinds[kind], kind.value) for kind in Severity if kinds[kind]]
    total = f"{' and '.join(parts)} in {counted(len({finding.filename for finding in found}), 'file')}."
    return "\n".join(
        [f"{fixed}Left: {total}" if mended else f"Found {total}", *_lived(found), *_fixable(found, unsafe)]
    )


def _lived(found: list[Finding]) -> Iterator[str]:
    """What a run said of the findings, where one was held against them."""
    said = Counter(finding.live.status for finding in found if finding.live)
    if said:
        yield f"The run: {', '.join(f'{count} {status}' for status, count in sorted(said.items()))}."


def _fixable(found: list[Finding], unsafe: bool) -> Iterator[str]:
    """How many findings a run with `--fix` would mend."""
    now = sum(applicable(finding, unsafe) for finding in found)
    more = sum(applicable(finding, True) for finding in found) - now
    if now:
        yield f"[*] {now} fixable with the `--fix` option" + (f" ({more} more with `--unsafe-fixes`)." if more else ".")
    elif more:
        yield f"No safe fixes; {more} fixable with `--fix --unsafe-fixes`, which guess what was meant."


def applicable(finding: Finding, unsafe: bool) -> bool:
    """Whether a finding has a fix that may be made, unsafe ones where they are asked for."""
    return finding.fix is not None and finding.fix.applicability in (("safe", "unsafe") if unsafe else ("safe",))


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
