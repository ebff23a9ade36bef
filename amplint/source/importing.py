"""Which files of the project import a file: looked for below the folder in which the project begins."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator

from amplint.source.asked import Stamp, answered_by, heard
from amplint.source.discover import discover
from amplint.source.imported import imported
from amplint.source.neighbours import LEVELS, begins
from amplint.source.reading import Unreadable, read

QUESTION = "importers"
MOST_FILES = 5000
"""Files of a project that are looked through; who imports what in a larger one is not known."""

_PACKAGE = "__init__.py"


def importers(path: str) -> tuple[str, ...]:
    """The files that import a file, or a package that hands on what is in it; sorted, as reports show them."""
    found = _importers(path)
    heard(QUESTION, path, _digest(found))
    return found


def state(path: str) -> Stamp:
    """The files that import a file, as numbers that can be compared."""
    return _digest(_importers(path))


def _importers(path: str) -> tuple[str, ...]:
    files = _files(_root(os.path.dirname(os.path.abspath(path))))
    own, found, waiting = os.path.abspath(path), set[str](), [path]
    while waiting:
        target = waiting.pop()
        fresh = set(_importing(files, target)) - found
        found |= fresh
        waiting += (file for file in fresh if os.path.basename(file) == _PACKAGE)
    return tuple(sorted(one for one in found if os.path.basename(one) != _PACKAGE and os.path.abspath(one) != own))


def _importing(files: tuple[str, ...], target: str) -> Iterator[str]:
    """The files with an import that leads to a file, looked for where the name of its module occurs."""
    here = os.path.abspath(target)
    folder, name = os.path.split(here)
    word = os.fsencode(os.path.basename(folder) if name == _PACKAGE else os.path.splitext(name)[0])
    for file in files:
        try:
            if read(file, lambda held: word in held) is None:
                continue
        except Unreadable:
            continue
        if here in map(os.path.abspath, imported(file)):
            yield file


def _root(folder: str) -> str:
    """The folder in which the project of a folder begins: a marked one, the working directory, or else its own."""
    above = folder
    for _ in range(LEVELS + 1):
        if begins(above) or above == os.getcwd():
            return above
        above = os.path.dirname(above)
    return folder


def _files(root: str) -> tuple[str, ...]:
    """The files below a folder; read anew when something came or went in one of the folders that hold them."""
    known = _LISTED.get((root, os.getcwd()))
    if known is not None and all(_changed(folder) == when for folder, when in known[1].items()):
        return known[0]
    found = tuple(file.path for file in discover([root]).files)
    found = found if len(found) <= MOST_FILES else ()
    folders = {root, *(os.path.dirname(os.path.abspath(file)) for file in found)}
    _LISTED[root, os.getcwd()] = found, {folder: _changed(folder) for folder in folders}
    return found


_LISTED: dict[tuple[str, str], tuple[tuple[str, ...], dict[str, int]]] = {}


def _changed(folder: str) -> int:
    """When an entry of a folder came or went, in nanoseconds; 0 where that cannot be asked."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _digest(found: tuple[str, ...]) -> Stamp:
    """Some files as numbers that can be compared: of their names, and how many they are."""
    return int(hashlib.sha256("\0".join(found).encode("utf-8", "surrogatepass")).hexdigest()[:15], 16), len(found)


answered_by(QUESTION, state)
