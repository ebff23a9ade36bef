"""What is checked of one file: the Python in it, and where each line of that stands in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from amplint.findings import Edit, Finding, Fix, Place, TrainingLoop


@dataclass(frozen=True)
class Line:
    """Where a line of the script stands: its cell (None: the file has none), its row there, and how many columns
    further right it starts."""

    cell: int | None
    row: int
    shift: int = 0


@dataclass(frozen=True)
class Script:
    """The Python of one file as one program.

    `texts`: what the file shows, by cell (None: it has no cells). `lines`: where each line of `text` stands, if that is
    elsewhere. `broken`: the places that are not Python, each with the reason; they are left out of `text`.
    """

    text: str
    texts: Mapping[int | None, str]
    lines: tuple[Line, ...] | None = None
    broken: tuple[tuple[Place, str], ...] = ()

    def place(self, place: Place) -> Place:
        """Where a span of `text` stands in the file."""
        if not self.lines:
            return place
        first = self.lines[min(place.row, len(self.lines)) - 1]
        last = self.lines[min(place.end_row, len(self.lines)) - 1]
        if last.cell != first.cell:  # it ends with its cell
            return Place(first.row, place.column + first.shift, first.row, place.column + first.shift + 1, first.cell)
        return Place(first.row, place.column + first.shift, last.row, place.end_column + last.shift, first.cell)

    def placed(self, finding: Finding) -> Finding:
        """A finding about `text` as one about the file."""
        if self.lines is None:
            return finding
        witness = tuple(replace(event, place=self.place(event.place)) for event in finding.witness)
        return replace(
            finding, place=self.place(finding.place), witness=witness, fix=finding.fix and self._fix(finding.fix)
        )

    def placed_loop(self, loop: TrainingLoop) -> TrainingLoop:
        """A training loop of `text` as one of the file."""
        if self.lines is None:
            return loop
        lost = tuple((self.place(place), why) for place, why in loop.not_followed)
        marks = tuple((self.place(place), what) for place, what in loop.marks)
        return replace(loop, place=self.place(loop.place), not_followed=lost, marks=marks)

    def _fix(self, fix: Fix) -> Fix:
        return replace(fix, edits=tuple(Edit(self.place(edit.place), edit.content) for edit in fix.edits))
