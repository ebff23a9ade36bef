"""One line for each finding: `file:row:column: severity[rule-id] message`."""

from __future__ import annotations

from amplint.findings import Finding
from amplint.report import Report
from amplint.report.paint import paint, severity


def render(report: Report) -> str:
    """A line for each finding."""
    return "".join(_line(finding, report.colour) + "\n" for finding in report.findings)


def _line(finding: Finding, colour: bool) -> str:
    head = severity(finding.severity, f"{finding.severity.value}[{finding.code}]", colour)
    live = f" [run: {finding.live.status}]" if finding.live else ""
    return f"{paint(position(finding), 'strong', colour)}: {head} {finding.message}{live}"


def position(finding: Finding) -> str:
    """Where a finding points, as terminals and editors can follow it; notebooks name the cell."""
    place = finding.place
    cell = f"cell {place.cell}:" if place.cell is not None else ""
    return f"{finding.filename}:{cell}{place.row}:{place.column}"
