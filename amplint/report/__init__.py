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
}


@dataclass(frozen=True)
class Report:
    """What there is to tell: findings in order, the texts they stand in, and whether colours may be used.

    `texts` are by file and cell, the cell None where there are none.
    """

    findings: tuple[Finding, ...]
    texts: Mapping[tuple[str, int | None], str] = field(default_factory=dict)
    colour: bool = False


def render(name: str, report: Report) -> str:
    """The findings in the format of that name; ends with a newline unless it is empty."""
    return cast(str, import_module(FORMATS[name]).render(report))
