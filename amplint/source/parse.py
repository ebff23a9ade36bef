"""Text to a LibCST tree with positions. LibCST is imported here, in `lower` and in `fix`, nowhere else."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from amplint.source.evened import Moves, evened, without
from amplint.source.reading import Unparsable

_LINE_END = re.compile(r"\r\n?|\n")
"""Where LibCST counts lines: `str.splitlines` would also split at form feeds."""

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
    positions: Mapping[cst.CSTNode, CodeRange]
    lines: Sequence[str]


class _Positions(MetadataWrapper):
    """A wrapper that is asked for positions alone.

    LibCST 1.9 (`metadata/wrapper.py`, `_resolve_impl`) walks the tree for the providers that share one walk even where
    there are none; that takes as long as the positions themselves.
    """

    def visit_batched(self, visitors: Iterable[cst.BatchableCSTVisitor], *rest: Any, **named: Any) -> cst.CSTNode:
        every = list(visitors)
        return super().visit_batched(every, *rest, **named) if every else self.module


def parse(text: str) -> Tree:
    """The tree of a text. Raises Unparsable.

    The wrapper does not copy the tree: it was made here and nobody else holds it. The copy costs more than the parser.
    """
    module, moved = _parsed(text)
    wrapper = _Positions(module, unsafe_skip_copy=True)
    positions = wrapper.resolve(PositionProvider)
    places = {node: _moved_back(place, moved) for node, place in positions.items()} if moved else positions
    return Tree(wrapper.module, places, _LINE_END.split(text))


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


def _moved_back(place: CodeRange, moved: Moves) -> CodeRange:
    """Where a node stands in the text itself."""
    ends = ((end.line, max(end.column - moved.get(end.line, 0), 0)) for end in (place.start, place.end))
    return CodeRange(*ends)


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
