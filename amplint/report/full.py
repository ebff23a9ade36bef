"""What a compiler would print: the message, the source with the finding and what led to it marked, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from amplint.findings import Finding, Place
from amplint.report import Report
from amplint.report.concise import position
from amplint.report.paint import paint, severity
from amplint.report.snippet import Mark, lines_of, shown_rows, snippet
from amplint.report.summary import applicable

NEAR = 30  # rows between a finding and an earlier event that still stand in one snippet


def render(report: Report) -> str:
    """A paragraph for each finding, each followed by an empty line."""
    lines = {source: lines_of(text) for source, text in report.texts.items()}
    paragraphs = (_paragraph(finding, lines, report) for finding in report.findings)
    return "".join("\n".join(paragraph) + "\n\n" for paragraph in paragraphs)


Source = tuple[str, int | None]
"""A file, and the cell of a notebook."""


def _paragraph(finding: Finding, lines: Mapping[Source, Sequence[str]], report: Report) -> list[str]:
    colour = report.colour
    kind = severity(finding.severity, f"{finding.severity.value}[{finding.code}]", colour)
    here = (finding.filename, finding.place.cell)
    near, far = _marks(finding)
    parts = [(here, near, ""), *((source, [mark], _at(source, mark.place)) for source, mark in far)]
    shown = [row for source, marks, _ in parts for row in shown_rows(lines.get(source, []), marks)]
    gutter = len(str(max(shown, default=finding.place.row)))
    margin = " " * gutter
    bar = paint(f"{margin} |", "gutter", colour)
    told = [
        f"{kind}{_fixable(finding, report)}: {paint(finding.message, 'strong', colour)}",
        f"{paint(f'{margin}-->', 'gutter', colour)} {position(finding)}",
    ]
    for source, marks, head in parts:
        body = snippet(lines.get(source, []), marks, gutter, colour)
        said = head if body or not head else f"{head}: {marks[0].label}"  # nothing of that file is shown
        told += [f"{paint(f'{margin}:::', 'gutter', colour)} {said}"] if said else []
        told += [bar, *body] if body else []
    if finding.advice:
        told += [bar, f"{paint(f'{margin} =', 'gutter', colour)} {paint('help', 'help', colour)}: {finding.advice}"]
    if finding.live:
        said = f"{paint('run', 'help', colour)}: {finding.live.status}: {finding.live.what}"
        told += [f"{paint(f'{margin} =', 'gutter', colour)} {said}"]
    return told


def _fixable(finding: Finding, report: Report) -> str:
    """The mark of a finding that a run with `--fix` would mend."""
    return f" {paint('[*]', 'help', report.colour)}" if applicable(finding, report.unsafe) else ""


def _marks(finding: Finding) -> tuple[list[Mark], list[tuple[Source, Mark]]]:
    """The finding and the events near it; the events far away, each with where it stands."""
    near = [Mark(finding.place, "", finding.severity.value, main=True)]
    far: list[tuple[Source, Mark]] = []
    here = (finding.filename, finding.place.cell)
    for event in finding.witness:
        mark = Mark(event.place, event.what, "earlier", main=False)
        source = (event.filename or finding.filename, event.place.cell)
        if source == here and abs(event.place.row - finding.place.row) <= NEAR:
            near.append(mark)
        else:
            far.append((source, mark))
    return near, sorted(
        far, key=lambda pair: (pair[0][0] != finding.filename, pair[0][0], pair[0][1] or 0, pair[1].place.row)
    )


def _at(source: Source, place: Place) -> str:
    return f"{source[0]}:{f'cell {place.cell}:' if place.cell is not None else ''}{place.row}:{place.column}"
