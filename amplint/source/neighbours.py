"""Which file an import means: looked for on disk, beside the importing file and above it, never in what is installed.

Of two files that a name could mean, the one is meant that more of the name leads to: `trainer.build` is not looked for
in a module `trainer/trainer.py`. A name that could mean two all the same means none, and neither does one of the
standard library or of a library that a dialect speaks of. What was named on the command line does not matter, so a
file by itself has the same neighbours as the whole tree.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from amplint.dialects import GOVERNS
from amplint.source.asked import exists, is_file, is_folder
from amplint.source.discover import shown

LEVELS = 5
"""Folders above a file in which a project may begin, if nothing marks its beginning."""

_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
_PUBLIC = frozenset(sys.stdlib_module_names) | GOVERNS | {"torch", "numpy"}

Found = tuple[str, tuple[str, ...]]
"""A file, and what is left of the name: what it should be asked for."""


def resolved(importer: str, qualified: str, own: bool = False) -> Found | None:
    """The file of a qualified name as it is written in `importer` (dots before it: relative), if there is just one.

    `own`: of a library that a dialect speaks of too, where the importer is a part of that.
    """
    name = qualified.lstrip(".")
    parts = tuple(name.split(".")) if name else ()
    level = len(qualified) - len(name)
    folder = os.path.dirname(os.path.abspath(importer))
    if level:
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        found = _below(folder, parts)
        return (shown(found[0]), found[1]) if found and found[0] != os.path.abspath(importer) else None
    inside = own and bool(parts) and parts[0] in GOVERNS and parts[0] in folder.split(os.sep)
    if not parts or (parts[0] in _PUBLIC and not inside):
        return None
    every = {found for root in _roots(folder) if (found := _below(root, parts)) and len(found[1]) < len(parts)}
    least = min((len(rest) for _, rest in every), default=0)
    deepest = [found for found in every if len(found[1]) == least]
    if len(deepest) != 1:
        return None
    ((file, rest),) = deepest
    return (shown(file), rest) if file != os.path.abspath(importer) else None


def _roots(folder: str) -> Iterator[str]:
    """The folders from which absolute names may be looked up, nearest first."""
    package = True
    for level in range(4 * LEVELS):
        inside = package
        package = package and is_file(os.path.join(folder, "__init__.py"))
        if level < LEVELS or inside:
            yield folder
            yield os.path.join(folder, "src")
        above = os.path.dirname(folder)
        if above == folder or (not package and (level >= LEVELS or begins(folder))):
            return
        folder = above


def begins(folder: str) -> bool:
    """Whether a project begins here."""
    return any(exists(os.path.join(folder, mark)) for mark in _MARKS)


def _below(folder: str, parts: tuple[str, ...]) -> Found | None:
    """The module that the longest part of a name means below a folder; packages go before modules, as in Python."""
    for at, part in enumerate(parts):
        inner, module = os.path.join(folder, part), os.path.join(folder, f"{part}.py")
        if not is_file(os.path.join(inner, "__init__.py")) and is_file(module):
            return module, parts[at + 1 :]
        if not is_folder(inner):
            return _package(folder, parts[at:])
        folder = inner
    return _package(folder, ())


def _package(folder: str, rest: tuple[str, ...]) -> Found | None:
    file = os.path.join(folder, "__init__.py")
    return (file, rest) if is_file(file) else None
