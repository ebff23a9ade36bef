"""Patterns of `exclude` and `per-file-ignores`, tested against paths relative to the configuration's folder.

A pattern is met by a path or by the last part of one, so `vendored` and `*_pb2.py` hold at any depth; `*` also
crosses `/`, so `tests/*` and `tests/**` are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from pathlib import PurePosixPath


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """A test of one entry (not of the folders above it): whether any pattern names it or its last part."""
    spellings = [spelling for pattern in patterns for spelling in _spellings(pattern)]
    if not spellings:
        return lambda path: False
    matches = re.compile("|".join(translate(spelling) for spelling in spellings)).match
    return lambda path: bool(matches(path) or matches(path.rpartition("/")[2]))


def covers(pattern: str, path: str) -> bool:
    """Whether the pattern names the file or a folder that it lies in."""
    names = matcher((pattern,))
    return any(names(str(entry)) for entry in (PurePosixPath(path), *PurePosixPath(path).parents[:-1]))


def _spellings(pattern: str) -> Iterable[str]:
    bare = pattern.replace("\\", "/").removeprefix("./").rstrip("/")
    yield bare
    if bare.startswith("**/"):
        yield bare[3:]
    for tail in ("/**", "/*"):  # all that lies in a folder: then the folder need not be entered
        if bare.endswith(tail):
            yield bare.removesuffix(tail)
