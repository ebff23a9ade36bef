"""What names say: a pattern is looked for once in each name, however often a run meets it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache


def says(pattern: str) -> Callable[[str], bool]:
    """Whether a text holds a pattern, as a function that remembers its answers."""
    search = re.compile(pattern).search

    @lru_cache(maxsize=4096)
    def answer(text: str) -> bool:
        return search(text) is not None

    return answer
