"""Analyses that find what a test planted in a text, so that the way of a finding can be tested by itself."""

from __future__ import annotations

import os
import re
import time

from amplint.findings import Finding, Place, Severity, Witness
from amplint.source.reading import Unparsable

PLANTS = {"clip_grad_norm_": "clip-before-unscale", "unscale_": "repeated-unscale"}


def planted(text: str, filename: str) -> list[Finding]:
    """An error for each `name(...)` of PLANTS; its witness is the first `backward` above it."""
    if "broken syntax" in text:
        raise Unparsable(2, 5, "expected something else")
    lines = re.split(r"\r\n|\r|\n", text)
    findings = []
    for row, line in enumerate(lines, 1):
        for found in re.finditer(r"\b(" + "|".join(PLANTS) + r")\([^()]*\)?", line):
            code = PLANTS[found[1]]
            place = Place(row, found.start() + 1, row, found.end() + 1)
            findings.append(
                Finding(filename, place, code, Severity.ERROR, f"{code} here", "mend it", _before(lines, row))
            )
        for found in re.finditer(r"tail\(\)", line):
            place = Place(row, found.start() + 1, row, found.end() + 1)
            findings.append(Finding(filename, place, "dropped-tail-window", Severity.WARNING, "the tail is dropped"))
    return findings


def _before(lines: list[str], row: int) -> tuple[Witness, ...]:
    for above in range(row - 1, 0, -1):
        if found := re.search(r"\w+\.backward\(\)", lines[above - 1]):
            return (Witness(Place(above, found.start() + 1, above, found.end() + 1), "scaled here"),)
    return ()


def failing(text: str, filename: str) -> list[Finding]:
    """A fault of our own on every file that says so."""
    if "our own fault" in text:
        raise TypeError("a node of a kind that nobody expected")
    return planted(text, filename)


def deadly(text: str, filename: str) -> list[Finding]:
    """The end of the process on every file that says so."""
    if "take it down" in text:
        os._exit(1)
    return planted(text, filename)


def interrupted(text: str, filename: str) -> list[Finding]:
    """Somebody pressed Control-C."""
    raise KeyboardInterrupt


def waiting(text: str, filename: str) -> list[Finding]:
    """An analysis that never ends; it says that it has begun."""
    with open("begun", "w", encoding="utf-8"):
        pass
    while True:
        time.sleep(1)
