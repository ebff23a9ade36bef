"""The programs of this folder: a wrong and a mended version, and the flags that they are run with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

HERE = Path(__file__).parent
_FENCE = re.compile(r"^```python (?P<head>[^\n]*)\n(?P<body>.*?)^```$", re.M | re.S)
_FILE = re.compile(r"^# file: (\S+)\n", re.M)
_WORDS = frozenset({"fixed", "left", "broken", "harmless"})
_VALUES = {"True": True, "False": False}

Flags = dict[str, bool | int]
Files = dict[str, str]


@dataclass(frozen=True)
class Program:
    """One block. `words`: what becomes of it, and whether its wrong version computes the same."""

    name: str
    body: str
    words: frozenset[str]
    flags: tuple[tuple[str, tuple[bool | int, ...]], ...]

    @property
    def ranks(self) -> int:
        """How many processes it runs in."""
        return next((int(values[0]) for name, values in self.flags if name == "ranks"), 1)

    @property
    def combinations(self) -> list[Flags]:
        """Every choice of flags."""
        flags = [(name, values) for name, values in self.flags if name != "ranks"]
        names = [name for name, _ in flags]
        return [dict(zip(names, chosen, strict=True)) for chosen in product(*(values for _, values in flags))]

    @property
    def wrong(self) -> Files:
        """The files of the wrong version."""
        return _files(_version(self.body, "wrong"))

    @property
    def right(self) -> Files:
        """The files of the mended version."""
        return _files(_version(self.body, "right"))


def programs() -> Iterator[Program]:
    """All programs, in the order of files and blocks. Raises ValueError for a word that nobody reads."""
    for file in sorted(HERE.glob("*.md")):
        text = file.read_text(encoding="utf-8")
        for number, found in enumerate(_FENCE.finditer(text) if file.name != "README.md" else (), 1):
            words = found["head"].split()
            flags = [word.partition("=") for word in words if "=" in word]
            plain = frozenset(word for word in words if "=" not in word)
            if plain - _WORDS:
                raise ValueError(f"unknown word in ```python {found['head']}")
            values = tuple((name, tuple(map(_value, given.split(",")))) for name, _, given in flags)
            yield Program(f"{file.stem}-{number}", found["body"], plain, values)


def _value(text: str) -> bool | int:
    return _VALUES[text] if text in _VALUES else int(text)


def _version(body: str, version: str) -> str:
    """The lines of one version, without what marks them."""
    lines: list[str] = []
    for line in body.splitlines():
        code, _, mark = line.rpartition("  # ")
        if mark not in ("wrong", "right"):
            lines.append(line)
        elif mark == version:
            lines.append(code)
    return "\n".join(lines) + "\n"


def _files(text: str) -> Files:
    first, *rest = _FILE.split(text)
    return {"train.py": first, **dict(zip(rest[::2], rest[1::2], strict=True))}
