"""What a compiler would print: the message, the source with the finding and what led to it marked, and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from amplint.findings import Finding, Place
from amplint.report import Report
from amplint.report.concise import position
from amplint.report.paint import paint, severity
from amplint.report.snippet import Mark, lines_of, shown_rows, snippet

NEAR = 30  # rows between a finding and an earlier event that still stand in one snippet


def render(report: Report) -> str:
    """A paragraph for each finding, each followed by an empty line."""
    lines = {filename: lines_of(text) for filename, text in report.texts.items()}
    paragraphs = (_paragraph(finding, lines.get(finding.filename, []), report.colour) for finding in report.findings)
    return "".join("\n".join(paragraph) + "\n\n" for paragraph in paragraphs)


def _paragraph(finding: Finding, lines: Sequence[str], colour: bool) -> list[str]:
    kind = severity(finding.severity, f"{finding.severity.value}[{finding.code}]", colour)
    near, far = _marks(finding)
    shown = [*shown_rows(lines, near), *(row for mark in far for row in shown_rows(lines, [mark]))]
    gutter = len(str(max(shown, default=finding.place.row)))
    margin = " " * gutter
    bar = paint(f"{margin} |", "gutter", colour)
    told = [
        f"{kind}: {paint(finding.message, 'strong', colour)}",
        f"{paint(f'{margin}-->', 'gutter', colour)} {position(finding)}",
    ]
    if body := snippet(lines, near, gutter, colour):
        told += [bar, *body]
    for mark in far:
        if body := snippet(lines, [mark], gutter, colour):
            told += [f"{paint(f'{margin}:::', 'gutter', colour)} {_at(finding, mark.place)}", bar, *body]
    if finding.advice:
        told += [bar, f"{paint(f'{margin} =', 'gutter', colour)} {paint('help', 'help', colour)}: {finding.advice}"]
    return told


def _marks(finding: Finding) -> tuple[list[Mark], list[Mark]]:
    """The finding and the events near it; the events far away."""
    near = [Mark(finding.place, "", finding.severity.value, main=True)]
    far: list[Mark] = []
    for event in finding.witness:
        mark = Mark(event.place, event.what, "earlier", main=False)
        beside = event.place.cell == finding.place.cell and abs(event.place.row - finding.place.row) <= NEAR
        (near if beside else far).append(mark)
    return near, sorted(far, key=lambda mark: (mark.place.cell or 0, mark.place.row))


def _at(finding: Finding, place: Place) -> str:
    cell = f"cell {place.cell}:" if place.cell is not None else ""
    return f"{finding.filename}:{cell}{place.row}:{place.column}"
