"""Notebooks: the code cells of one, in the order of the file, as one program.

The order in which somebody ran the cells is not asked for: it is not what the next reader runs. Formats 3 and 4 are
read, https://nbformat.readthedocs.io/en/5.10/format_description.html, as far as sources and languages go.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from amplint.findings import Place
from amplint.source.ipython import Moved, plain
from amplint.source.lines import lines_of
from amplint.source.reading import LIMIT, Unreadable
from amplint.source.scout import check_brackets
from amplint.source.script import Line, Script
from amplint.source.trees import tree_of

_PYTHON = frozenset({"python", "python2", "python3", "ipython", "ipython2", "ipython3"})


def notebook_of(data: bytes) -> Script:
    """The program of a notebook, empty if its kernel is not Python's. Raises Unreadable for what is no notebook."""
    document = _document(data)
    texts: dict[int | None, str] = {}
    program: list[str] = []
    lines: list[Line] = []
    broken: list[tuple[Place, str]] = []
    for cell, text in _code(document) if _is_python(document) else ():
        texts[cell] = text
        moved, wrong = _checked(text, cell)
        broken += wrong
        program += [line for line, _ in moved]
        lines += [Line(cell, row, shift) for row, (_, shift) in enumerate(moved, 1)]
    whole = "".join(f"{line}\n" for line in program)
    if len(whole) > LIMIT:
        raise Unreadable("the notebook's code is larger than 1 MiB")
    return Script(whole, texts, tuple(lines), tuple(broken))


def _document(data: bytes) -> dict[str, Any]:
    if not data.strip():
        raise Unreadable("the notebook is empty: not even its JSON is there")
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Unreadable("the notebook is not valid utf-8") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"the notebook is not valid JSON: {error.msg}", error.lineno) from None
    except RecursionError:
        raise Unreadable("the notebook's JSON nests too deeply") from None
    if not isinstance(document, dict) or not any(
        isinstance(document.get(key), list) for key in ("cells", "worksheets")
    ):
        raise Unreadable("the file is JSON, but not a notebook: it has no cells")
    return document


def _is_python(document: dict[str, Any]) -> bool:
    """Whether the kernel speaks Python; a notebook that says nothing does."""
    about = _table(document.get("metadata"))
    said = _table(about.get("language_info")).get("name") or _table(about.get("kernelspec")).get("language")
    return not isinstance(said, str) or said.lower() in _PYTHON


def _code(document: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """The code cells, each with its number among all cells, from 1."""
    sheets = [document, *(sheet for sheet in _list(document.get("worksheets")) if isinstance(sheet, dict))]
    cells = [_table(cell) for sheet in sheets for cell in _list(sheet.get("cells"))]
    for number, cell in enumerate(cells, 1):
        source = cell.get("source", cell.get("input"))  # format 3 calls it input
        text = "".join(str(part) for part in source) if isinstance(source, list) else source
        if cell.get("cell_type") == "code" and isinstance(text, str) and _speaks_python(cell):
            yield number, text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def _speaks_python(cell: dict[str, Any]) -> bool:
    """Whether a cell of a notebook of several languages is Python's."""
    editor = _table(_table(cell.get("metadata")).get("vscode")).get("languageId")
    said = [word for word in (editor, cell.get("language")) if isinstance(word, str)]
    return all(word.lower() in _PYTHON for word in said)


def _checked(text: str, cell: int) -> tuple[list[Moved], list[tuple[Place, str]]]:
    """The cell in plain Python; where it is none, as many empty lines, and what is wrong with it."""
    if tree_of(text) is not None:
        return [(line, 0) for line in lines_of(text)], []
    moved = plain(text)
    written = "\n".join(line for line, _ in moved)
    if tree_of(written) is not None:
        return moved, []
    from amplint.source.parse import parse
    from amplint.source.reading import Unparsable

    check_brackets(written)
    try:
        parse(f"{written}\n")  # Python newer than the one that runs
    except Unparsable as error:
        row = min(error.row, len(moved))
        column = error.column + moved[row - 1][1]
        return [("", 0)] * len(moved), [(Place(row, column, row, column + 1, cell), error.why)]
    return moved, []


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
