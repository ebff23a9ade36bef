"""Text to a LibCST tree with positions. LibCST is imported here, in `lower` and in `fix`, nowhere else."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

_LINE_END = re.compile(r"\r\n?|\n")
"""Where LibCST counts lines: `str.splitlines` would also split at form feeds."""


class Unparsable(Exception):
    """The text is not Python that LibCST understands. Rows and columns count from 1."""

    def __init__(self, row: int, column: int, why: str) -> None:
        super().__init__(f"{row}:{column}: {why}")
        self.row, self.column, self.why = row, column, why


@dataclass(frozen=True)
class Tree:
    """A parsed module, where each of its nodes stands, and the lines of its text."""

    module: cst.Module
    positions: Mapping[cst.CSTNode, CodeRange]
    lines: Sequence[str]


def parse(text: str) -> Tree:
    """The tree of a text. Raises Unparsable.

    The wrapper does not copy the tree: it was made here and nobody else holds it. The copy costs more than the parser.
    Nor is it asked to resolve the positions: it would visit the whole tree once more, for providers that there are not
    (LibCST 1.9, `metadata/wrapper.py`, `_gen_batchable`), which takes as long as finding the positions.
    """
    try:
        module = cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        raise _unparsable(text, error) from error
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    positions = cast("Mapping[cst.CSTNode, CodeRange]", PositionProvider()._gen(wrapper))
    return Tree(wrapper.module, positions, _LINE_END.split(text))


def _unparsable(text: str, error: cst.ParserSyntaxError) -> Unparsable:
    """What is wrong, in Python's own words where it refuses the text too: LibCST lists what it would have liked."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as refusal:
        return Unparsable(refusal.lineno or 1, max(refusal.offset or 1, 1), refusal.msg)
    except (ValueError, RecursionError, MemoryError):
        pass
    return Unparsable(error.raw_line, error.raw_column + 1, error.message.splitlines()[0])
