"""Colours, where a terminal shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

from amplint.findings import Severity

_CODES = {"error": "1;31", "warning": "1;33", "gutter": "1;34", "help": "1;36", "strong": "1", "earlier": "1;34"}


def paint(text: str, role: str, colour: bool) -> str:
    """The text in the colour of its role; as it is where there are no colours."""
    return f"\x1b[{_CODES[role]}m{text}\x1b[0m" if colour and text else text


def leading(text: str, address: str | None, shown: bool) -> str:
    """A text that leads somewhere when it is clicked, in a terminal that can do that; others show the text alone.

    The sequence: https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda
    """
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\" if shown and address else text


def severity(value: Severity, text: str, colour: bool) -> str:
    """The text in the colour of a severity."""
    return paint(text, value.value, colour)


def wants_colour(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether to use colours: only on a terminal that knows them, or with FORCE_COLOR (force-color.org).

    Never against NO_COLOR (no-color.org).
    """
    if environ.get("FORCE_COLOR") and not environ.get("NO_COLOR"):
        return True
    return stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
