"""Markdown: each fenced block of Python as a program of its own.

Blocks of one document show alternatives as often as they continue one another, so none is read into the next. A block
that does not parse is left out: what documentation shows is often shortened. Fences are those of CommonMark 0.31,
section 4.5 (https://spec.commonmark.org/0.31.2/#fenced-code-blocks), at any indentation, as in lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from amplint.source.reading import Unreadable, decoded
from amplint.source.script import Line, Script
from amplint.source.trees import tree_of

_FENCE = re.compile(r"(?P<indent>[ ]*)(?P<fence>`{3,}|~{3,})[ ]*\{?\.?(?P<language>[\w+-]*)(?P<rest>[^\n]*)")
_PYTHON = frozenset({"python", "python3", "py", "py3"})


def scripts_of(data: bytes) -> list[Script]:
    """The Python blocks of a document, in order; empty for a document that cannot be decoded."""
    try:
        text = decoded(data)
    except Unreadable:
        return []
    return [
        Script("".join(f"{line}\n" for line in lines), {None: text}, _lines(row, len(lines), indent))
        for row, indent, lines in _blocks(text.splitlines())
        if tree_of("\n".join(lines)) is not None
    ]


def _lines(row: int, number: int, indent: int) -> tuple[Line, ...]:
    return tuple(Line(None, row + offset, indent) for offset in range(number))


def _blocks(lines: list[str]) -> Iterator[tuple[int, int, list[str]]]:
    """The Python blocks: the row of the first line, how far the block is indented, and its lines without that."""
    opened: re.Match[str] | None = None
    start = 0
    for row, line in enumerate([*lines, ""], 1):
        if opened is None:
            opened, start = _FENCE.fullmatch(line), row + 1
            if opened is not None and opened["fence"][0] == "`" and "`" in opened["rest"]:
                opened = None  # inline code
        elif _closes(line, opened["fence"]) or row > len(lines):
            if opened["language"].lower() in _PYTHON:
                indent = len(opened["indent"])
                yield start, indent, [_less(inner, indent) for inner in lines[start - 1 : row - 1]]
            opened = None


def _closes(line: str, fence: str) -> bool:
    mark = line.strip()
    return len(mark) >= len(fence) and not mark.strip(fence[0])


def _less(line: str, indent: int) -> str:
    """A line without the indentation of its fence, as far as it has it."""
    return line[min(indent, len(line) - len(line.lstrip(" "))) :]
