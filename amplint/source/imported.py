"""Which files of the project a file's imports lead to, directly or through others. A guess by the words of its import
statements, quick enough for every file of a tree: it may name too many, wherever a statement is looked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from amplint.source.asked import Stamp, given, stamp
from amplint.source.languages import script_of
from amplint.source.neighbours import resolved
from amplint.source.reading import Unreadable, read

FARTHEST = 6
"""Files from one to the next; what is farther away is not followed."""

_FROM = re.compile(r"\bfrom\s+([.\w]+)\s+import\b\s*(\([^)]*\)|(?:\\\r?\n|[^\n])*)")
_IMPORT = re.compile(r"^[ \t]*import\s+((?:\\\r?\n|[^\n])*)", re.MULTILINE)
_NAME = re.compile(r"[.\w]+|\*")


def leads_to(path: str, target: str) -> bool:
    """Whether the imports of a file lead to another one; no farther than to that one are they followed."""
    wanted = os.path.abspath(target)
    return wanted != os.path.abspath(path) and any(wanted in there for there in _levels(path))


def reached(path: str) -> set[str]:
    """The files that the imports of a file lead to, by absolute path; the file itself left aside."""
    return set[str]().union(*_levels(path)) - {os.path.abspath(path)}


def _levels(path: str) -> Iterator[set[str]]:
    """The files that the imports of a file lead to, by absolute path: those that are one farther away each time."""
    working = os.getcwd()
    seen, here = {_absolute(path, working)}, [path]
    for _ in range(FARTHEST):
        there = {_absolute(file, working): file for one in here for file in imported(one)}
        here = [file for place, file in there.items() if place not in seen]
        yield there.keys() - seen
        seen |= there.keys()


@lru_cache(maxsize=8192)
def _absolute(path: str, working: str) -> str:
    return os.path.normpath(os.path.join(working, path))


def families(paths: Sequence[str]) -> list[list[int]]:
    """The places of files among some, put together where one leads to the other; in order."""
    at = {os.path.abspath(path): place for place, path in enumerate(paths)}
    family = list(range(len(paths)))
    for place, path in enumerate(paths):
        for other in sorted(at[file] for file in reached(path) & at.keys()):
            old, new = max(family[place], family[other]), min(family[place], family[other])
            family = [new if one == old else one for one in family] if old != new else family
    return [[place for place, one in enumerate(family) if one == first] for first in sorted(set(family))]


def imported(path: str) -> frozenset[str]:
    """The files of the project that a file imports from."""
    about = stamp(path)
    if about is None:
        return frozenset()
    return _imported(path, os.getcwd(), about, given(path) is not None)


@lru_cache(maxsize=4096)
def _imported(path: str, working: str, about: Stamp, instead: bool) -> frozenset[str]:
    try:
        data = read(path, lambda held: b"import" in held)
        text = script_of(data, path).text if data is not None else ""
    except Unreadable:
        return frozenset()
    found = (resolved(path, name) for name in dict.fromkeys(_named(text)))
    return frozenset(place[0] for place in found if place is not None)


def _named(text: str) -> Iterator[str]:
    """The qualified names in import statements, as they are written."""
    for module, names in _FROM.findall(text):
        for name in _NAME.findall(names.partition("#")[0] if "(" not in names else re.sub(r"#[^\n]*", "", names)):
            yield module if name == "*" else f"{module}{'' if module.endswith('.') else '.'}{name}"
    for names in _IMPORT.findall(text):
        yield from _NAME.findall(names.partition("#")[0])
