"""Lines of source with places marked under them, as compilers show them.

    12 |     scaler.scale(loss).backward()
       |     ----------------------------- gradients get their loss scale here
    13 |     clip_grad_norm_(model.parameters(), 1.0)
       |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

Columns count Unicode characters; what is printed is measured in terminal cells (tabs are four, wide characters two).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from amplint.findings import Place
from amplint.report.paint import paint

AROUND = 2  # lines of context before and after what the finding points at
BRIDGED = 2  # unmarked lines between two shown ones that are shown too, rather than `...`
TALL = 4  # rows of a place that are all marked; of a taller one, only the first
WIDE = 140  # cells of a line that are shown; of a longer one, what is near the mark


@dataclass(frozen=True)
class Mark:
    """A place to underline. The finding itself is `main` and has no label: its message stands above."""

    place: Place
    label: str
    role: str
    main: bool


def lines_of(text: str) -> list[str]:
    """The lines as Python counts them (`str.splitlines` would also split at form feeds)."""
    return re.split(r"\r\n|\r|\n", text)


def snippet(lines: Sequence[str], marks: Sequence[Mark], gutter: int, colour: bool) -> list[str]:
    """The marked lines with line numbers `gutter` wide; nothing for places outside the text."""
    rows = shown_rows(lines, marks)
    bar = paint(f"{' ' * gutter} |", "gutter", colour)
    shown: list[str] = []
    for before, row in zip([None, *rows], rows, strict=False):
        if before is not None and row > before + 1:
            shown.append(paint("...", "gutter", colour))
        on_row = sorted((mark for mark in marks if row in _marked(mark)), key=lambda mark: (not mark.main, mark.place))
        text, columns = _line(lines[row - 1], min((_span(mark, row, lines)[0] for mark in on_row), default=0))
        shown.append(f"{paint(f'{row:>{gutter}} |', 'gutter', colour)} {text}".rstrip())
        for mark in on_row:
            shown.append(f"{bar} {_under(mark, row, lines, columns, colour)}")
    return shown


def shown_rows(lines: Sequence[str], marks: Sequence[Mark]) -> list[int]:
    """The rows to show: those marked, some around the finding itself, and small gaps."""
    wanted: set[int] = set()
    for mark in marks:
        wanted.update(_marked(mark))
        if mark.main:
            around = [
                *range(mark.place.row - AROUND, mark.place.row),
                *range(_last(mark) + 1, _last(mark) + AROUND + 1),
            ]
            wanted.update(row for row in around if 0 < row <= len(lines) and lines[row - 1].strip())
    rows = sorted(row for row in wanted if 0 < row <= len(lines))
    for low, high in pairwise(rows):
        if high - low - 1 <= BRIDGED:
            wanted.update(range(low, high))
    return sorted(row for row in wanted if 0 < row <= len(lines))


def _last(mark: Mark) -> int:
    tall = mark.place.end_row - mark.place.row >= TALL
    return mark.place.row if tall else max(mark.place.row, mark.place.end_row)


def _marked(mark: Mark) -> range:
    return range(mark.place.row, _last(mark) + 1)


def _span(mark: Mark, row: int, lines: Sequence[str]) -> tuple[int, int]:
    """The first and the last character (exclusive, from 0) that a mark covers on a row; at least one."""
    line, place = lines[row - 1], mark.place
    start = place.column - 1 if row == place.row else len(line) - len(line.lstrip())
    end = place.end_column - 1 if row == place.end_row else len(line.rstrip())
    return start, max(end, start + 1)


def _under(mark: Mark, row: int, lines: Sequence[str], columns: Sequence[int], colour: bool) -> str:
    start, end = (columns[min(at, len(columns) - 1)] for at in _span(mark, row, lines))
    line = ("^" if mark.main else "-") * max(1, end - start)
    label = f" {mark.label}" if mark.label and row == _last(mark) else ""
    return " " * start + paint(line + label, mark.role, colour)


def _line(line: str, focus: int) -> tuple[str, list[int]]:
    """A line as it is printed, and the cell at which each of its characters starts; one more for the end."""
    first = 0 if len(line) <= WIDE else max(0, min(focus, len(line)) - WIDE // 3)
    text = "…" if first else ""
    columns = [0] * first
    width = len(text)
    for at, character in enumerate(line[first:], first):
        if at - first >= WIDE:
            columns += [width] * (len(line) - at)
            text += "…"
            break
        columns.append(width)
        printed = _printed(character)
        text += printed
        width += sum(map(_cells, printed))
    return text, [*columns, width]


def _printed(character: str) -> str:
    """A character as it may reach a terminal: a control character would be obeyed, so its picture is shown."""
    if character == "\t":
        return "    "
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\N{REPLACEMENT CHARACTER}" if 0x7F <= code < 0xA0 else character


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
