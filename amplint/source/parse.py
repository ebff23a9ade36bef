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

from amplint.source.reading import Unparsable

_LINE_END = re.compile(r"\r\n?|\n")
"""Where LibCST counts lines: `str.splitlines` would also split at form feeds."""


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
    try:
        module = cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        raise _unparsable(text, error) from error
    wrapper = _Positions(module, unsafe_skip_copy=True)
    return Tree(wrapper.module, wrapper.resolve(PositionProvider), _LINE_END.split(text))


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
