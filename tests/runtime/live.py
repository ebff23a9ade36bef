"""Runs source under the guard in this process."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

from amplint.catalogue import RULES
from amplint.catalogue.examples import Example
from runtime_guard import guard


def guarded(source: str, folder: Path, **options: Any) -> guard:
    """The guard of a program that ran to its end, in its own folder; torch's own warnings are let pass."""
    file, here = folder / "program.py", Path.cwd()
    file.write_text(source, encoding="utf-8")
    os.chdir(folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with guard(mode="record", **options) as found:
                exec(compile(source, str(file), "exec"), {"__name__": "__main__"})
    finally:
        os.chdir(here)
    return found


def told(found: guard, first_row: int = 0) -> list[str]:
    """Every violation as `row: rule`, each place once, sorted."""
    places = {(one.site.row - first_row, one.code) for one in found.violations}
    return [f"{row}: {rule}" for row, rule in sorted(places)]


def expected(example: Example) -> list[str]:
    """Every `# expect:` mark of a rule that the guard can meet, in the same form."""
    marks = {(row - example.stage_rows, rule) for rule, row in example.marked("expect") if _live(rule)}
    return [f"{row}: {rule}" for row, rule in sorted(marks)]


def _live(name: str) -> bool:
    rule = RULES[name]
    return bool(rule.when) or rule.observe is not None or rule.find is not None
