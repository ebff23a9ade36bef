"""Telling: one module for each format, each with `render(report)`; imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import cast

from amplint.findings import Finding

FORMATS = {
    "full": "amplint.report.full",
    "concise": "amplint.report.concise",
    "json": "amplint.report.json_list",
    "jsonl": "amplint.report.json_lines",
    "sarif": "amplint.report.sarif",
    "github": "amplint.report.github",
    "github-summary": "amplint.report.github_summary",
    "gitlab": "amplint.report.gitlab",
    "junit": "amplint.report.junit",
}
WITH_FIXES = frozenset({"full", "json", "jsonl", "sarif"})
"""The formats that tell how a finding can be mended."""


@dataclass(frozen=True)
class Report:
    """What there is to tell: findings in order, and the texts they stand in, by file and cell (None: no cells).

    `colour`: colours may be used. `strict`: warnings fail too. `version` is amplint's own, empty if it is not known.
    `unsafe`: unsafe fixes would be made too. `width`: columns of the terminal that is told; 0 where it is none.
    """

    findings: tuple[Finding, ...]
    texts: Mapping[tuple[str, int | None], str] = field(default_factory=dict)
    colour: bool = False
    strict: bool = False
    version: str = ""
    unsafe: bool = False
    width: int = 0


def render(name: str, report: Report) -> str:
    """The findings in the format of that name; ends with a newline unless it is empty."""
    return cast(str, import_module(FORMATS[name]).render(report))
