"""The bytes of a file with edits made: Python in its own encoding, or a notebook of which only the cells change."""

from __future__ import annotations

import io
from collections.abc import Sequence
from tokenize import detect_encoding

from amplint.findings import Edit
from amplint.fix.cells import edited_notebook
from amplint.fix.code import Change, applied, offsets_of
from amplint.source.languages import is_notebook


class Unwritable(Exception):
    """The file cannot be changed without changing more than was meant."""


def edited(data: bytes, filename: str, edits: Sequence[Edit]) -> bytes:
    """The bytes of a file after the edits; nothing else in it changes. Raises Unwritable."""
    if is_notebook(filename):
        made = edited_notebook(data, edits)
        if made is None:
            raise Unwritable("its cells cannot be told apart")
        return made
    encoding, _ = detect_encoding(io.BytesIO(data).readline)
    try:
        text = data.decode(encoding)
        if text.encode(encoding) != data:
            raise Unwritable(f"its bytes are not the only way to write it in {encoding}")
        changed = edited_text(text, edits)
        return changed.encode(encoding)
    except UnicodeEncodeError as error:
        raise Unwritable(f"what would be written cannot be said in {encoding}") from error


def edited_text(text: str, edits: Sequence[Edit]) -> str:
    """A text after the edits. Raises Unwritable where they overlap."""
    starts = offsets_of(text)
    changes = []
    for edit in edits:
        place = edit.place
        start = starts[place.row - 1] + place.column - 1
        changes.append(Change(start, starts[place.end_row - 1] + place.end_column - 1, edit.content))
    changed = applied(text, changes)
    if changed is None:
        raise Unwritable("the edits overlap")
    return changed
