"""What `--fix` makes of a program, without the command line around it."""

from __future__ import annotations

import re
from difflib import unified_diff

from amplint.analysis import all_findings_of, findings_of, loops_of, side_by_side_of
from amplint.catalogue import RULES
from amplint.fix.importers import Importers
from amplint.fix.proof import Document, Reader, fixed

BOTH = ("safe", "unsafe")


def reader() -> Reader:
    """How one program is read, in its several states."""
    return Reader(findings_of, loops_of, all_findings_of, side_by_side_of, Importers((), findings_of, all_findings_of))


def changed(source: str, safety: tuple[str, ...] = BOTH) -> list[str]:
    """The lines that the fixes of a program take away and bring, each with its sign."""
    _, after, _ = mended(source, safety)
    lines = unified_diff(source.splitlines(), after.script.text.splitlines(), "", "", lineterm="", n=0)
    return [f"{line[0]} {line[1:]}" for line in lines if re.match("[+-][^+-]", line)]


def mended(
    source: str, safety: tuple[str, ...] = BOTH, name: str = "example.py"
) -> tuple[Document, Document, list[str]]:
    """The program before and after all its fixes, and the rules that they were of."""
    reading = reader()
    before = reading.read(source.encode(), "example.py")
    after, done = fixed(before, lambda script, found: list(found), reading, RULES, lambda one: one in safety)
    return before, after, [finding.code for finding in done]
