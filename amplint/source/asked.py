"""What is asked of the file system besides a file's own text, written down, so that an answer given again can be told
to still hold: which neighbours are there, and when they were last written.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Question = tuple[str, str]
"""What was asked (`file`, `folder`, `exists`, `stamp`, `importers`), and of which path."""
Stamp = tuple[int, int]
"""When a file was last written, in nanoseconds, and its size in bytes."""
Answer = bool | Stamp | None
Answers = dict[Question, Answer]
_Told = TypeVar("_Told", bound=Answer)
_Key = TypeVar("_Key")
_Made = TypeVar("_Made")

_listening: list[Answers] = []


@contextmanager
def recorded() -> Iterator[Answers]:
    """All that is asked while the block runs, with the answers; whoever listens outside of it hears it too."""
    heard: Answers = {}
    _listening.append(heard)
    try:
        yield heard
    finally:
        _listening.pop()
        heard_again(heard)


def heard_again(answers: Answers) -> None:
    """Tells whoever listens what an answer that was kept had asked."""
    if _listening:
        _listening[-1].update(answers)


def heard(kind: str, path: str, answer: _Told) -> _Told:
    """An answer, which whoever listens is told."""
    if _listening:
        _listening[-1][(kind, path)] = answer
    return answer


def answered_by(kind: str, answerer: Callable[[str], Answer]) -> None:
    """Says who answers a kind of question that is not the file system's own."""
    _ASKED[kind] = answerer


def is_file(path: str) -> bool:
    """Whether a path is a file."""
    return heard("file", path, os.path.isfile(path))


def is_folder(path: str) -> bool:
    """Whether a path is a folder."""
    return heard("folder", path, os.path.isdir(path))


def exists(path: str) -> bool:
    """Whether a path is anything at all."""
    return heard("exists", path, os.path.exists(path))


def stamp(path: str) -> Stamp | None:
    """When a file was written and how large it is; None for what cannot be asked."""
    return heard("stamp", path, _stamp(path))


def still_so(answers: Answers) -> bool:
    """Whether all of it would be answered the same now."""
    return all(_ASKED[kind](path) == answer for (kind, path), answer in answers.items())


def once(memory: dict[_Key, tuple[Answers, _Made]], key: _Key, most: int, make: Callable[[], _Made]) -> _Made:
    """What is made for a key; kept for as long as all that was asked for it stays so, and until `most` others were."""
    known = memory.get(key)
    if known is not None and still_so(known[0]):
        heard_again(known[0])
        return known[1]
    with recorded() as asked:
        made = make()
    if len(memory) >= most:
        memory.clear()
    memory[key] = asked, made
    return made


def digest(path: str) -> str:
    """The SHA-256 of what a file holds; empty for one that cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError:
        return ""


@contextmanager
def instead(path: str, data: bytes) -> Iterator[None]:
    """While the block runs, a file holds these bytes for whoever asks, and not those on disk."""
    key = os.path.abspath(path)
    before = _instead.get(key)
    _instead[key] = data
    try:
        yield
    finally:
        del _instead[key]
        if before is not None:
            _instead[key] = before


def given(path: str) -> bytes | None:
    """The bytes that a file holds in place of those on disk, if there are any."""
    return _instead.get(os.path.abspath(path)) if _instead else None


_instead: dict[str, bytes] = {}


def _stamp(path: str) -> Stamp | None:
    data = given(path)
    if data is not None:
        return int(hashlib.sha256(data).hexdigest()[:15], 16), -len(data)
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size


_ASKED: dict[str, Callable[[str], Answer]] = {
    "file": os.path.isfile,
    "folder": os.path.isdir,
    "exists": os.path.exists,
    "stamp": _stamp,
}
