"""What a project's own files of settings say: the value that all of them give to one setting.

Looked at are the JSON and YAML files of the folders from the program's own up to where its project begins, and of the
folders of configurations in these and one level below. A file that does not have the setting says nothing of it.
`defaults` lists of a file name others, one for each group (hydra 1.3, `_internal/defaults_list.py`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from enum import Enum

from amplint.source.asked import Answers, is_file, once, stamp
from amplint.source.configured import MAX_FILES, around, holds_settings, listed
from amplint.source.documents import MAX_BYTES
from amplint.source.reading import Unreadable, read

MOST_KEPT = 64
MAX_NODES = 2000
"""Values of one file: aliases of YAML can stand for more than fits into memory."""
_DEPTH = 3
_SUFFIXES = (".json", ".yaml", ".yml")


class Differs(Enum):
    """Stands for what the files do not agree about."""

    DIFFERS = "differs"


Said = dict[str, "Said"] | list["Said"] | str | int | float | bool | None | Differs


def shipped(path: str, keys: Sequence[str]) -> Said:
    """What the settings of a file's project are under some keys, one inside the other; DIFFERS where no file says it,
    or one says something else."""
    found = [one for file in _documents(os.path.dirname(os.path.abspath(path))) for one in _under(file, keys)]
    return _agreed(found) if found else Differs.DIFFERS


def _agreed(values: list[Said]) -> Said:
    first, *others = values
    if all(type(one) is type(first) and one == first for one in others):
        return first
    mappings = [one for one in values if isinstance(one, dict)]
    if len(mappings) < len(values):
        return Differs.DIFFERS
    shared = [key for key in mappings[0] if all(key in one for one in mappings)]
    return {key: _agreed([one[key] for one in mappings]) for key in shared}


def _under(file: tuple[str, dict[str, Said]], keys: Sequence[str]) -> Iterator[Said]:
    """What a file says under some keys, or the one of a group that its list of defaults names."""
    path, document = file
    if keys[0] in document:
        yield from _inside(document, keys)
        return
    listed = document.get("defaults")
    for item in listed if isinstance(listed, list) else ():
        for group, option in item.items() if isinstance(item, dict) else ():
            if group.split("@")[0].split()[-1].strip("/") == keys[0] and isinstance(option, str):
                place = os.path.join(os.path.dirname(path), keys[0], option)
                inner = _read(place if place.endswith(_SUFFIXES) else f"{place}.yaml")
                if inner is not None:
                    yield from _inside(inner, keys[1:])


def _inside(value: Said, keys: Sequence[str]) -> Iterator[Said]:
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return
        value = value[key]
    yield value


_KEPT: dict[tuple[str, str], tuple[Answers, list[tuple[str, dict[str, Said]]]]] = {}


def _documents(folder: str) -> list[tuple[str, dict[str, Said]]]:
    """The files of settings that a folder's project has, with what they hold."""
    return once(_KEPT, (folder, os.getcwd()), MOST_KEPT, lambda: list(_read_all(folder)))


def _read_all(folder: str) -> Iterator[tuple[str, dict[str, Said]]]:
    named = (file for one in around(folder) for file in _below(one, _DEPTH, settings=False))
    for _, file in zip(range(MAX_FILES), named, strict=False):
        document = _read(file)
        if document is not None:
            yield file, document


def _below(folder: str, depth: int, settings: bool) -> Iterator[str]:
    """The files of a folder that may hold settings, and those in its folders of such."""
    for name in listed(folder):
        inner = os.path.join(folder, name)
        held = settings or holds_settings(name)
        if name.endswith(_SUFFIXES) and (settings or depth == _DEPTH):
            yield inner
        elif depth and (held or depth == _DEPTH) and not name.startswith(".") and os.path.isdir(inner):
            yield from _below(inner, depth - 1, held)


def _read(file: str) -> dict[str, Said] | None:
    """What a small file holds, if that is a mapping by names."""
    if not is_file(file):
        return None
    stamp(file)
    try:
        data = read(file, lambda data: len(data) <= MAX_BYTES, MAX_BYTES) or b""
        found = _plain(json.loads(data) if file.endswith(".json") else _of_yaml(data), [None] * MAX_NODES)
    except (Unreadable, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _of_yaml(data: bytes) -> object:
    """What a YAML document says, in none of which tags are obeyed. Raises ValueError for what is no YAML."""
    import yaml  # takes longer than most files do

    loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        found: Said = yaml.load(data, Loader=loader)  # it is a safe one
    except yaml.YAMLError as error:
        raise ValueError("no YAML") from error
    return found


def _plain(value: object, left: list[None]) -> Said:
    """A value of a document: numbers that YAML 1.1 takes for texts (`1e-4`) are numbers, what has no name of its own is
    left out. `left`: as many more values as may be met; raises ValueError where there are none."""
    if not left:
        raise ValueError("too many values")
    left.pop()
    if isinstance(value, dict):
        return {key: _plain(one, left) for key, one in value.items() if isinstance(key, str)}
    if isinstance(value, list):
        return [_plain(one, left) for one in value]
    if isinstance(value, str):
        return float(value) if _EXPONENT.match(value) else value
    return value if isinstance(value, (bool, int, float, type(None))) else Differs.DIFFERS


_EXPONENT = re.compile(r"[-+]?\d+[eE][-+]?\d+$")
