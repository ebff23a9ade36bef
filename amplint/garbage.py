"""How often Python looks for garbage while a file is analysed.

Lowering and playing make many small objects that live for as long as the file is looked at. Python would go through all
of them again for every 700 new ones (gc, CPython 3.10 to 3.13), which takes a tenth of the time and finds little.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS = 100_000
"""How many new objects there are between two looks: some ten megabytes."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """While it is open, garbage is looked for less often."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], OBJECTS) if before[0] else 0, *before[1:])  # 0: somebody has switched it off
    try:
        yield
    finally:
        gc.set_threshold(*before)
