"""Findings that one process has found already: who imports a file that is mended is analysed for it, and again in its
own turn, and once more for the next file that it imports."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable

from amplint.findings import Finding
from amplint.source.asked import Answers, once

Analysis = Callable[[str, str], list[Finding]]
MOST = 1024  # files whose findings are remembered


def remembered(analysis: Analysis, told: Callable[[str], str]) -> Analysis:
    """The same analysis, done once for a text while all that it asked of the file system stays so.

    It is forgotten when MOST others were analysed. `told`: what else the findings in a file depend on.
    """

    def asked(text: str, filename: str) -> list[Finding]:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        place = (filename, os.getcwd(), digest, told(filename))
        found = once(_FOUND, place, MOST, lambda: tuple(analysis(text, filename)))
        return list(found)

    return asked


_FOUND: dict[tuple[str, str, str, str], tuple[Answers, tuple[Finding, ...]]] = {}
