"""A check that is made again whenever a file changes, until it is interrupted."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable

INTERVAL = 0.5  # seconds between two looks at the files

Stamps = dict[str, tuple[int, int]]


def watch(files: Callable[[], Iterable[str]], check: Callable[[], object], pause: Callable[[], None]) -> None:
    """Check now and after each change of the files. `pause` waits until the next look; it ends the watch by raising."""
    while True:
        before = stamps(files())
        _clear()
        check()
        sys.stderr.write("amplint: watching for changes; interrupt to end\n")
        while stamps(files()) == before:
            pause()


def stamps(files: Iterable[str]) -> Stamps:
    """When each file was written, and its size; those that are gone are left out."""
    found: Stamps = {}
    for file in files:
        try:
            about = os.stat(file)
        except OSError:
            continue
        found[file] = about.st_mtime_ns, about.st_size
    return found


def wait() -> None:
    """A moment."""
    time.sleep(INTERVAL)


def _clear() -> None:
    """An empty screen, where there is one."""
    if sys.stdout.isatty():
        sys.stdout.write("\x1b[2J\x1b[3J\x1b[H")
        sys.stdout.flush()
