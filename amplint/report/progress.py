"""How far a long run has come, for somebody who is looking."""

from __future__ import annotations

import time
from collections.abc import Mapping
from threading import Event, Lock, Thread
from typing import TextIO

PATIENCE = 1.0  # seconds before anything is shown
INTERVAL = 0.1  # seconds between two lines
SLOW = 5.0  # seconds after which a file is named


class Progress:
    """A counter that rewrites one line of a terminal; silent on anything else, and in CI."""

    def __init__(self, stream: TextIO, environ: Mapping[str, str]) -> None:
        self._stream = stream
        self._watched = stream.isatty() and not environ.get("CI")
        self._next = time.monotonic() + PATIENCE
        self._drawn = False
        self._line = ""
        self._oldest, self._since = "", time.monotonic()
        self._lock, self._over = Lock(), Event()
        self._clock: Thread | None = None

    def __call__(self, done: int, total: int, oldest: str) -> None:
        """Say that `done` of `total` files are done, and that `oldest` is waited for: after a while it is named."""
        if not self._watched:
            return
        with self._lock:
            if oldest != self._oldest:
                self._oldest, self._since = oldest, time.monotonic()
            self._line = f"checked {done} of {total} files"
            self._draw()
        if self._clock is None:
            self._clock = Thread(target=self._tick, daemon=True)
            self._clock.start()

    def _tick(self) -> None:
        """Goes on to draw while nothing is done."""
        while not self._over.wait(1):
            with self._lock:
                self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        if now < self._next or self._over.is_set():
            return
        self._next = now + INTERVAL
        self._drawn = True
        slow = f", {self._oldest} for {now - self._since:.0f} s" if self._oldest and now - self._since >= SLOW else ""
        self._stream.write(f"\r\x1b[K{self._line}{slow}")
        self._stream.flush()

    def clear(self) -> None:
        """Leave the line as it was."""
        self._over.set()
        with self._lock:
            if self._drawn:
                self._stream.write("\r\x1b[K")
                self._stream.flush()
                self._drawn = False
