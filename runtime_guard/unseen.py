"""What source says of gradients that are handled by hand.

Whether code divides them through `.data`, which no version counts: then what a window weighs is not known.

`p.grad.data.div_(n)` changes the gradient behind the back of its version counter (torch 2.13), and looking at values
would cost a synchronisation on a device. So the source of the files that the training step runs in is searched once.

Whether anything there asks if numbers are finite: then a loss scale by hand may be watched over.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable

_EDIT = re.compile(r"grad\.data\b(?:\[[^\]\n]*\])?\s*(?:[*/]=|=[^=]|\.(?:div|mul|copy)_\()")
_ASKED = re.compile(r"(?i)finite|is_?inf|is_?nan|overflow|found_inf|\b(?:inf|nan)\b|norm\w* *(?:[<>]|[!=]=)")


class Searched:
    """Files, each searched once for lines of one kind."""

    def __init__(self, line: re.Pattern[str]) -> None:
        self._line = line
        self._known: dict[str, bool] = {}

    def in_files(self, paths: Iterable[str]) -> bool:
        """Whether any of several files has such a line."""
        return any(self._found(path) for path in paths)

    def _found(self, path: str) -> bool:
        if path not in self._known:
            self._known[path] = any(self._line.search(line) for line in linecache.getlines(path))
        return self._known[path]


def unseen() -> Searched:
    """The files that edit a gradient's `.data`."""
    return Searched(_EDIT)


def watched() -> Searched:
    """The files that ask whether numbers are finite, or that may have it asked."""
    return Searched(_ASKED)
