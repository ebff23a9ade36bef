"""The lines of a text as Python counts them: `str.splitlines` would also split at form feeds."""

from __future__ import annotations

import re

END = re.compile(r"\r\n?|\n")
LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
"""A line with its end; the last one may have none."""


def lines_of(text: str) -> list[str]:
    """The lines, without their ends."""
    return END.split(text)
