"""Findings that are to be lived with: a comment at each that silences it, in the user's own file.

The comment goes to the end of the statement that the finding stands in; where one is there already, the rule is added
to it. What amplint says of files and of comments is not silenced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from amplint.findings import Edit, Finding, Place
from amplint.fix.documents import Unwritable, edited
from amplint.fix.files import Changed, replace_file
from amplint.selection import known_rules
from amplint.source.comments import Ignore, comments_of, statements_of

OWN_FAMILY = "amplint"


@dataclass(frozen=True)
class Added:
    """How many findings are silenced now, in how many files, and the files that could not be written, each with why."""

    findings: int = 0
    files: int = 0
    unwritten: tuple[tuple[str, str], ...] = ()


def add_ignores(findings: Iterable[Finding], texts: Mapping[tuple[str, int | None], str]) -> Added:
    """Write the comments. Files are written whole or not at all."""
    done = files = 0
    unwritten: list[tuple[str, str]] = []
    for filename, group in groupby(sorted(findings, key=lambda one: one.order), lambda one: one.filename):
        meant = [one for one in group if known_rules()[one.code].family != OWN_FAMILY]
        edits = [edit for cell, inner in _by_cell(meant) for edit in edits_of(inner, texts[(filename, cell)], cell)]
        if not edits:
            continue
        try:
            with open(filename, "rb") as file:
                before = file.read()
            replace_file(filename, before, edited(before, filename, edits))
        except Changed:
            unwritten.append((filename, "it was changed meanwhile"))
        except Unwritable as problem:
            unwritten.append((filename, str(problem)))
        except OSError as error:
            unwritten.append((filename, error.strerror or str(error)))
        else:
            done, files = done + len(meant), files + 1
    return Added(done, files, tuple(unwritten))


def _by_cell(findings: Sequence[Finding]) -> Iterator[tuple[int | None, list[Finding]]]:
    for cell, group in groupby(findings, lambda one: one.place.cell):
        yield cell, list(group)


def edits_of(findings: Iterable[Finding], text: str, cell: int | None = None) -> list[Edit]:
    """The comments as edits of a text, one for each statement."""
    statements = statements_of(text)
    lines = text.splitlines()
    ends: dict[int, set[str]] = {}
    for finding in findings:
        own = next((rows for rows in statements if finding.place.row in rows), None)
        last = own[-1] if own else finding.place.row
        if 0 < last <= len(lines) and not lines[last - 1].endswith("\\"):
            ends.setdefault(last, set()).add(finding.code)
    spoken = [ignore for ignore in comments_of(text).ignores if ignore.rules and ignore.rows is not None]
    return [_edit(sorted(codes), row, lines[row - 1], spoken, cell) for row, codes in sorted(ends.items())]


def _edit(codes: list[str], row: int, line: str, spoken: Sequence[Ignore], cell: int | None) -> Edit:
    for ignore in spoken:
        if ignore.rows and row in ignore.rows and ignore.rules:
            _, last = ignore.rules[-1]
            end = Place(last.end_row, last.end_column, last.end_row, last.end_column, cell)
            return Edit(end, "".join(f", {code}" for code in codes))
    column = len(line.rstrip()) + 1
    return Edit(Place(row, column, row, column, cell), f"  # amplint: ignore[{', '.join(codes)}]")
