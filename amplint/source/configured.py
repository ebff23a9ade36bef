"""What a project sets outside of a file: the line of a configuration, or of a script, that says so.

Looked at are the folders from the file's own up to where its project begins (or the working directory), and what lies
in their folders of configurations. Only a line that leaves no doubt counts: that there is none proves nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from amplint.source.asked import stamp
from amplint.source.neighbours import LEVELS, begins
from amplint.source.reading import Unreadable, read

_SUFFIXES = (".cfg", ".ini", ".json", ".py", ".sh", ".toml", ".yaml", ".yml")
_FOLDER = re.compile(
    r"(?i)^(conf(ig(uration)?s?)?|cfgs?|hparams|recipes|experiments?|trainer|hydra\w*|scripts?|sh|bash)$"
)
_DEPTH = 3  # folders of configurations inside each other
MAX_FILES = 300
MAX_BYTES = 100_000


def configured(path: str, settings: Mapping[str, str], text: str = "", unasked: str = "") -> frozenset[str]:
    """Which settings are made in the project of a file; `settings` are regular expressions by name.

    `text` is the file itself, which need not be saved; `unasked` the regular expression of what sets nothing."""
    left_out = re.compile(unasked.encode() or rb"(?!)")
    patterns = {name: re.compile(pattern.encode()) for name, pattern in settings.items()}
    written = left_out.sub(b"", text.encode(errors="replace"))
    found = {name for name, pattern in patterns.items() if pattern.search(written)}
    for number, file in enumerate(_files(os.path.dirname(os.path.abspath(path)))):
        if number >= MAX_FILES or len(found) == len(patterns):
            break
        stamp(file)
        data = left_out.sub(b"", _bytes(file))
        found |= {name for name, pattern in patterns.items() if pattern.search(data)}
    return frozenset(found)


def _bytes(file: str) -> bytes:
    """What a small file holds, else nothing."""
    try:
        return read(file, lambda data: len(data) <= MAX_BYTES, MAX_BYTES) or b""
    except Unreadable:
        return b""


def _files(folder: str) -> Iterator[str]:
    for one in around(folder):
        yield from _inside(one, _DEPTH)


def around(folder: str) -> Iterator[str]:
    """A folder and those above it, up to where its project begins."""
    for _ in range(LEVELS + 1):
        yield folder
        if begins(folder) or folder == os.getcwd():
            return
        folder = os.path.dirname(folder)


def holds_settings(name: str) -> bool:
    """Whether a folder is, by its name, one of configurations."""
    return _FOLDER.match(name) is not None


def listed(folder: str) -> list[str]:
    """The names in a folder, sorted; none where it cannot be read."""
    stamp(folder)
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _inside(folder: str, depth: int) -> Iterator[str]:
    """The files of a folder that may set something, and those in its folders of configurations."""
    for name in listed(folder):
        inner = os.path.join(folder, name)
        if name.endswith(_SUFFIXES):
            yield inner
        elif depth and os.path.isdir(inner) and (depth < _DEPTH or _FOLDER.match(name)):
            yield from _inside(inner, depth - 1)
