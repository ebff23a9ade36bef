"""A text that Python takes and LibCST refuses, written so that LibCST takes it, and how far its columns have moved.

LibCST 1.9 wants the indentation of a block to begin with that of the block around it, character by character
(`native/libcst/src/tokenizer/whitespace_parser.rs`), where Python compares columns, a tab going to the next multiple of
eight; it takes no form feed as the start of an indentation, no backslash as the start of a line, and no `(x): int`.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator

from amplint.source.lines import END, lines_of

_STEP = "    "
_BETWEEN = frozenset({tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING})

Moves = dict[int, int]
"""By row, how many columns further to the left the rest of it stood."""


def evened(text: str) -> tuple[str, Moves] | None:
    """The text with the same indentation for all that stands equally deep; None if Python has no tokens for it."""
    ends = END.findall(text)
    lines = lines_of(text)
    moved: Moves = {}
    try:
        for row, column, depth in _beginnings(text):
            lines[row - 1] = _STEP * depth + lines[row - 1][column:]
            moved[row] = len(_STEP) * depth - column
            for above in range(row - 2, -1, -1):
                if lines[above].strip() != "\\":
                    break
                lines[above] = ""
    except (tokenize.TokenError, SyntaxError):
        return None
    return "".join(line + end for line, end in zip(lines, [*ends, ""], strict=True)), moved


def _beginnings(text: str) -> Iterator[tuple[int, int, int]]:
    """Where each logical line begins, (row from 1, column from 0), and how many blocks it stands in."""
    depth, waiting = 0, True
    for token in tokenize.generate_tokens(io.StringIO(END.sub("\n", text)).readline):
        depth += (token.type == tokenize.INDENT) - (token.type == tokenize.DEDENT)
        if token.type == tokenize.NEWLINE:
            waiting = True
        elif waiting and token.type not in _BETWEEN and token.type != tokenize.ENDMARKER:
            waiting = False
            yield *token.start, depth


def without(text: str, row: int) -> str | None:
    """The text with `pass` for the innermost statement of a row, None where that shares its rows with another one."""
    try:
        around = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt) and _holds(node, row)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not around:
        return None
    node = min(around, key=lambda one: ((one.end_lineno or 0) - one.lineno, -one.col_offset))
    lines, ends = lines_of(text), [*END.findall(text), ""]
    first, last = node.lineno - 1, node.end_lineno or node.lineno
    before = lines[first].encode()[: node.col_offset].decode()
    behind = lines[last - 1].encode()[node.end_col_offset or 0 :].decode().partition("#")[0]
    if before.strip() or behind.strip() or lines[first][len(before) :] == "pass":
        return None
    lines[first:last] = [f"{before}pass", *[""] * (last - first - 1)]
    return "".join(line + end for line, end in zip(lines, ends, strict=True))


def _holds(node: ast.stmt, row: int) -> bool:
    return node.lineno <= row <= (node.end_lineno or node.lineno)
