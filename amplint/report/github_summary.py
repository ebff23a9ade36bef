"""Markdown for the summary of a job of GitHub Actions: a table of what was found, for the file GITHUB_STEP_SUMMARY.

What may stand there, and how much: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
(1 MiB a step).
"""

from __future__ import annotations

from amplint.findings import Finding
from amplint.report import Report
from amplint.report.concise import position
from amplint.report.links import rule_url
from amplint.report.summary import summary

MOST = 500
"""Findings in a table; the rest is counted."""


def render(report: Report) -> str:
    """A heading, a row for each finding, and what it comes to."""
    lines = ["## amplint", ""]
    if report.findings:
        lines += ["| | rule | where | what happens |", "|---|---|---|---|", *map(_row, report.findings[:MOST])]
        more = len(report.findings) - MOST
        lines += [f"| | | | and {more} more |", ""] if more > 0 else [""]
    return "\n".join([*lines, summary(report.findings, unsafe=report.unsafe), ""])


def _row(finding: Finding) -> str:
    url = rule_url(finding.code)
    rule = f"[`{finding.code}`]({url})" if url else f"`{finding.code}`"
    kind = "note" if finding.refuted else finding.severity.value
    return f"| {kind} | {rule} | `{_cell(position(finding))}` | {_cell(finding.message)} |"


def _cell(text: str) -> str:
    """A text that ends no cell and no row, and is no HTML."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|").replace("\n", " ")
    return plain.encode("utf-8", "replace").decode()
