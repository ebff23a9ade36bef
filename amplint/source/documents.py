"""The JSON files that a program reads by a path that it spells out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from amplint.source.asked import is_file, stamp
from amplint.source.neighbours import LEVELS, begins
from amplint.source.reading import Unreadable, read

MAX_BYTES = 20_000

Document = dict[str, "Document"] | list["Document"] | str | int | float | bool | None


def document(importer: str, written: str) -> dict[str, Document] | None:
    """What a JSON file holds whose path is written in a file; None unless there is one such file, and it is an object.

    A path is relative to the folder in which the program is started: that of the file, or one above it, up to where the
    project begins.
    """
    if os.path.isabs(written):
        return None
    every = {os.path.realpath(place) for place in _places(importer, written) if is_file(place)}
    return _held(every.pop()) if len(every) == 1 else None


def _places(importer: str, written: str) -> Iterator[str]:
    folder = os.path.dirname(os.path.abspath(importer))
    for _ in range(LEVELS + 1):
        yield os.path.join(folder, written)
        if begins(folder) or folder == os.getcwd():
            return
        folder = os.path.dirname(folder)


def _held(path: str) -> dict[str, Document] | None:
    stamp(path)
    try:
        found = json.loads(read(path, lambda data: len(data) <= MAX_BYTES, MAX_BYTES) or b"")
    except (Unreadable, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
