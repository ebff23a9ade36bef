"""A notebook's JSON with the sources of some cells changed, and nothing else: no byte of an output or of metadata."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from amplint.findings import Edit
from amplint.source.lines import LINE

_SPACE = re.compile(r"[ \t\r\n]*")


def edited_notebook(data: bytes, edits: Sequence[Edit]) -> bytes | None:
    """The bytes of a notebook after edits of its cells; None where it cannot be done."""
    from amplint.fix.documents import edited_text

    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    text = data[len(mark) :].decode("utf-8")
    sources = list(_sources(text))
    by_cell: dict[int, list[Edit]] = {}
    for edit in edits:
        by_cell.setdefault(edit.place.cell or 0, []).append(edit)
    for cell in sorted(by_cell, reverse=True):
        span = sources[cell - 1] if 0 < cell <= len(sources) else None
        if span is None:
            return None
        start, end = span
        written = text[start:end]
        value = json.loads(written)
        before = "".join(value) if isinstance(value, list) else value
        text = text[:start] + _written(written, value, edited_text(before, by_cell[cell])) + text[end:]
    return mark + text.encode("utf-8")


def _written(before: str, value: list[str] | str, changed: str) -> str:
    """A source as JSON, in the manner of the one before it: a string or a list of lines, with its indentation."""
    ascii_only = before.isascii()
    if isinstance(value, str):
        return json.dumps(changed, ensure_ascii=ascii_only)
    old = dict(zip(value, _items(before), strict=True))
    lines = [old.get(line) or json.dumps(line, ensure_ascii=ascii_only) for line in LINE.findall(changed)]
    inside = before[1 : before.index('"')] if value else ""
    comma = re.search(r'"([ \t\r\n]*,[ \t\r\n]*)"', before) if len(value) > 1 else None
    tail = before[before.rindex('"') + 1 : -1] if value else ""
    between = "," + (inside if comma is None else before[_between(before)])
    return "[" + inside + between.join(lines) + tail + "]"


def _between(before: str) -> slice:
    """What stands between the comma after the first item of a list and the second item."""
    end = _end(before, before.index('"'))
    comma = before.index(",", end)
    return slice(comma + 1, before.index('"', comma))


def _items(before: str) -> Iterator[str]:
    """The items of a JSON list of strings, as they are written."""
    at = before.find('"')
    while at >= 0:
        end = _end(before, at)
        yield before[at:end]
        at = before.find('"', end)


# --- where things stand in JSON --------------------------------------------------------------------------------------


def _sources(text: str) -> Iterator[tuple[int, int] | None]:
    """The span of the source of every cell, in order; None for a cell that has none."""
    top = dict(_members(text, _skip(text, 0)))
    sheets = _elements(text, top["worksheets"][0]) if "worksheets" in top else ()
    holders = [top, *(dict(_members(text, start)) for start, _ in sheets)]
    for start, _ in (holder["cells"] for holder in holders if "cells" in holder):
        for cell, _ in _elements(text, start):
            members = dict(_members(text, cell))
            yield members.get("source", members.get("input"))


def _members(text: str, at: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """The keys of a JSON object that begins at an offset, and the spans of their values."""
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = json.JSONDecoder().raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        end = _end(text, at)
        yield key, (at, end)
        at = _next(text, end)


def _elements(text: str, at: int) -> Iterator[tuple[int, int]]:
    """The spans of the elements of a JSON list that begins at an offset."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        end = _end(text, at)
        yield at, end
        at = _next(text, end)


def _end(text: str, at: int) -> int:
    return json.JSONDecoder().raw_decode(text, at)[1]


def _next(text: str, end: int) -> int:
    """The next element or the closing bracket after a value."""
    at = _skip(text, end)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
