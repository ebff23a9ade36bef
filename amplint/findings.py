"""The values that travel from the analysis to a report: Place, Witness, Edit, Fix, Finding."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amplint.protocol.scene import Scene


class Severity(str, Enum):
    """How sure a reviewer would be: an `error` blocks the change, a `warning` is worth saying."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, order=True)
class Place:
    """A span of source text. Rows and columns count from 1, columns in Unicode characters, the end is exclusive.

    In a notebook `cell` counts all cells from 1 and `row` is within the cell; elsewhere `cell` is None.
    """

    row: int
    column: int
    end_row: int
    end_column: int
    cell: int | None = None


@dataclass(frozen=True)
class Witness:
    """One earlier event on the path that shows a mistake, such as the backward that gave the gradients their scale.

    `filename` is None where the event is in the file of the finding.
    """

    place: Place
    what: str
    filename: str | None = None


@dataclass(frozen=True)
class Edit:
    """Replace the text of `place` by `content`."""

    place: Place
    content: str


@dataclass(frozen=True)
class Fix:
    """What would put a finding right. `applicability` is `safe`, `unsafe` or `display`, as in ruff."""

    applicability: str
    message: str
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True)
class Live:
    """What a guarded run says of a finding: `confirmed`, `refuted`, `not reached` or `live only`, and why."""

    status: str
    what: str


@dataclass(frozen=True)
class Finding:
    """One mistake at one place: what happens to the numbers (`message`) and what to do about it (`advice`).

    `conditional`: it happens under some settings of the program, which the message names. `scene`: what a remedy needs
    to know of the program around it. `names`: what the user calls an optimizer, and a scaler.
    """

    filename: str
    place: Place
    code: str
    severity: Severity
    message: str
    advice: str = ""
    witness: tuple[Witness, ...] = ()
    fix: Fix | None = None
    live: Live | None = None
    conditional: bool = field(default=False, compare=False)
    scene: Scene | None = field(default=None, compare=False, repr=False)
    names: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)

    @property
    def refuted(self) -> bool:
        """Whether a run went through it and met no mistake: it is still told, and fails nothing."""
        return self.live is not None and self.live.status == "refuted"

    @property
    def order(self) -> tuple[str, int, int, int, str, str]:
        """The sort key of every report: file, cell, row, column, rule, message."""
        place = self.place
        return (self.filename, place.cell or 0, place.row, place.column, self.code, self.message)


_CODE = re.compile(r"`[^`]*`")


def in_own_names(text: str, names: Iterable[tuple[str, str]]) -> str:
    """A text whose code has the user's own names in place of the words of the catalogue."""
    own = dict(names)
    if not own:
        return text
    words = re.compile(rf"(?<![\w.])({'|'.join(own)})(?![\w])")
    return _CODE.sub(lambda code: words.sub(lambda word: own[word[0]], code[0]), text)


@dataclass(frozen=True)
class TrainingLoop:
    """A training loop as it was understood. Each part in words: `none` if there is none, `unknown` if not followed.

    `not_followed`: places, and why what happens there is not known. `marks`: the backward and the steps, each with what
    may stand beside it.
    """

    filename: str
    place: Place
    function: str
    window: str
    divisor: str
    scaler: str
    clip: str
    step: str
    zero_grad: str
    scheduler: str
    drawn: str = ""
    not_followed: tuple[tuple[Place, str], ...] = ()
    marks: tuple[tuple[Place, str], ...] = ()

    @property
    def order(self) -> tuple[str, int, int, int]:
        """The sort key of every report: file, cell, row, column."""
        return (self.filename, self.place.cell or 0, self.place.row, self.place.column)
