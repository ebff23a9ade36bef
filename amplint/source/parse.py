"""Text to a LibCST tree with positions. LibCST is imported here, in `positions`, `lower` and `fix`, nowhere else."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from amplint.source.evened import Moves, evened, without
from amplint.source.lines import lines_of
from amplint.source.positions import Positions, positions_of
from amplint.source.reading import Unparsable

_UNEVEN = re.compile(r"(?m)^[ \t]*(?:\f[ \t\f]*[^\s#]|\\\r?$)")
"""A form feed in an indentation, or a line of a backslash: LibCST 1.9 may take it, and counts its columns wrongly."""

_PLACE = re.compile(r"error at (\d+):")
"""The row that LibCST's message names; the one that its error carries may be the next."""

MOST_REFUSED = 8
"""Statements of one text that LibCST refuses and that are left out."""


@dataclass(frozen=True)
class Tree:
    """A parsed module, where each of its nodes stands, and the lines of its text."""

    module: cst.Module
    positions: Positions
    lines: Sequence[str]


def parse(text: str) -> Tree:
    """The tree of a text. Raises Unparsable."""
    module, moved = _parsed(text)
    return Tree(module, positions_of(module, moved), lines_of(text))


def _parsed(text: str) -> tuple[cst.Module, Moves]:
    """The module of a text, or of what comes closest to it where Python takes the text and LibCST does not."""
    refused: cst.ParserSyntaxError | None = None
    if _UNEVEN.search(text) is None:
        try:
            return cst.parse_module(text), {}
        except cst.ParserSyntaxError as error:
            refused = error
    if (refusal := _unparsable(text, refused)) is not None:
        raise refusal from refused
    written, moved = evened(text) or (text, {})
    for _ in range(MOST_REFUSED):
        try:
            return cst.parse_module(written), moved
        except cst.ParserSyntaxError as error:
            place = _PLACE.search(error.message)
            left = without(written, int(place[1]) if place else error.raw_line)
            if left is None:
                why = error.message.splitlines()[0]
                raise Unparsable(error.raw_line, error.raw_column + 1, why, taken=True) from error
            written = left
    raise Unparsable(1, 1, "too much of it is refused", taken=True)


def _unparsable(text: str, error: cst.ParserSyntaxError | None) -> Unparsable | None:
    """What is wrong, in Python's own words where it refuses the text too: LibCST lists what it would have liked. None
    where Python takes the text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as refusal:
        return Unparsable(refusal.lineno or 1, max(refusal.offset or 1, 1), refusal.msg)
    except (ValueError, RecursionError, MemoryError):
        if error is not None:
            return Unparsable(error.raw_line, error.raw_column + 1, error.message.splitlines()[0])
    return None
