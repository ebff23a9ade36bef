"""Workflow commands of GitHub Actions: each finding stands beside its line in the changes of a pull request.

The syntax and what must be escaped in it: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
and `escapeData`, `escapeProperty` of https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts (1.11).
"""

from __future__ import annotations

from amplint.findings import Finding
from amplint.report import Report
from amplint.report.concise import position
from amplint.report.json_list import said


def render(report: Report) -> str:
    """A command for each finding: `::error` or `::warning`."""
    return "".join(_command(finding) + "\n" for finding in report.findings)


def _command(finding: Finding) -> str:
    place = finding.place
    where = {"title": f"amplint ({finding.code})", "file": finding.filename.replace("\\", "/")}
    if place.cell is None:  # the rows of a cell are not the rows of the file
        where |= {"line": str(place.row), "col": str(place.column), "endLine": str(place.end_row)}
        if place.end_row == place.row:  # columns are shown only where one line is meant
            where |= {"endColumn": str(place.end_column)}
    properties = ",".join(f"{name}={_property(value)}" for name, value in where.items())
    kind = "notice" if finding.refuted else finding.severity.value
    return f"::{kind} {properties}::{_data(f'{position(finding)}: {finding.code}: {said(finding)}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
