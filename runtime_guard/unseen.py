"""Whether code divides gradients through `.data`, which no version counts: then what a window weighs is not known.

`p.grad.data.div_(n)` changes the gradient behind the back of its version counter (torch 2.13), and looking at values
would cost a synchronisation on a device. So the source of the files that the training step runs in is searched once.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable

_EDIT = re.compile(r"grad\.data\b(?:\[[^\]\n]*\])?\s*(?:[*/]=|=[^=]|\.(?:div|mul|copy)_\()")


class Unseen:
    """The files that have been searched."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}

    def in_files(self, paths: Iterable[str]) -> bool:
        """Whether any of several files edits a gradient's `.data`."""
        return any(self._edits(path) for path in paths)

    def _edits(self, path: str) -> bool:
        if path not in self._known:
            self._known[path] = any(_EDIT.search(line) for line in linecache.getlines(path))
        return self._known[path]
