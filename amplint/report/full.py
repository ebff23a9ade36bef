"""What a compiler would print: the message, the source with the finding and what led to it marked, and what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from amplint.findings import Finding, Place
from amplint.report import Report
from amplint.report.concise import position
from amplint.report.links import rule_url
from amplint.report.paint import leading, paint, severity
from amplint.report.snippet import Mark, lines_of, shown_rows, snippet
from amplint.report.summary import applicable

DEEPEST, BELOW = 16, 4  # columns that a further line begins at: as deep as its text does, or else this
NARROWEST = 30  # columns for a text; where there are fewer, the terminal may part it as it likes
NEAR = 30  # rows between a finding and an earlier event that still stand in one snippet


def render(report: Report) -> str:
    """A paragraph for each finding, each followed by an empty line."""
    lines = {source: lines_of(text) for source, text in report.texts.items()}
    told, explained = "", set[str]()
    for finding in report.findings:
        paragraph = _paragraph(finding, lines, report, finding.code not in explained)
        explained.add(finding.code)
        told += "\n".join(paragraph) + "\n\n"
    return told


Source = tuple[str, int | None]
"""A file, and the cell of a notebook."""


def _paragraph(finding: Finding, lines: Mapping[Source, Sequence[str]], report: Report, first: bool) -> list[str]:
    """The lines about a finding; `first`: nothing was told of its rule yet."""
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
        *_wrapped(f"{kind}{_fixable(finding, report)}: ", finding.message, "strong", report),
        f"{paint(f'{margin}-->', 'gutter', colour)} {position(finding)}",
    ]
    for source, marks, head in parts:
        body = snippet(lines.get(source, []), marks, gutter, colour)
        said = head if body or not head else f"{head}: {marks[0].label}"  # nothing of that file is shown
        told += [f"{paint(f'{margin}:::', 'gutter', colour)} {said}"] if said else []
        told += [bar, *body] if body else []
    if finding.advice:
        head = f"{paint(f'{margin} =', 'gutter', colour)} {paint('help', 'help', colour)}: "
        told += [bar, *_wrapped(head, finding.advice, "", report)]
    if finding.live:
        said = f"{paint('run', 'help', colour)}: {finding.live.status}: {finding.live.what}"
        told += [f"{paint(f'{margin} =', 'gutter', colour)} {said}"]
    if first:
        on_terminal = colour and bool(report.width)
        command = leading(f"amplint rule {finding.code}", rule_url(finding.code), on_terminal)
        page = f"{paint('page', 'help', colour)}: {command}"
        told += [f"{paint(f'{margin} =', 'gutter', colour)} {page}"]
    return told


_PAINT = re.compile(r"\x1b\[[\d;]*m")


def _wrapped(head: str, text: str, role: str, report: Report) -> list[str]:
    """A text behind its head, on as many lines as the terminal needs, parted between words."""
    start = len(_PAINT.sub("", head))
    room = report.width - start
    if report.width and room >= NARROWEST:
        import textwrap

        below = start if start <= DEEPEST else BELOW
        whole = textwrap.TextWrapper(report.width, " " * start, " " * below, break_long_words=False)
        whole.break_on_hyphens = False
        rows = [row.strip() for row in whole.wrap(text)]
    else:
        below, rows = 0, [text]
    painted = [paint(row, role, report.colour) if role else row for row in rows]
    return [f"{head}{painted[0]}", *(f"{' ' * below}{row}" for row in painted[1:])]


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
