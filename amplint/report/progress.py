"""How far a long run has come, for somebody who is looking."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TextIO

PATIENCE = 1.0  # seconds before anything is shown
INTERVAL = 0.1  # seconds between two lines


class Progress:
    """A counter that rewrites one line of a terminal; silent on anything else, and in CI."""

    def __init__(self, stream: TextIO, environ: Mapping[str, str]) -> None:
        self._stream = stream
        self._watched = stream.isatty() and not environ.get("CI")
        self._next = time.monotonic() + PATIENCE
        self._drawn = False

    def __call__(self, done: int, total: int) -> None:
        """Say that `done` of `total` files are done."""
        if self._watched and time.monotonic() >= self._next:
            self._next = time.monotonic() + INTERVAL
            self._drawn = True
            self._stream.write(f"\r\x1b[Kchecked {done} of {total} files")
            self._stream.flush()

    def clear(self) -> None:
        """Leave the line as it was."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False
