"""GitLab's Code Quality report: the findings as a list, each with a fingerprint that survives shifted lines.

The fields: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format (GitLab 18). GitLab keeps one of
several findings with the same fingerprint, so each has its own.
"""

from __future__ import annotations

import json
import os
from typing import Any

from amplint.findings import Finding, Severity
from amplint.fingerprint import fingerprints
from amplint.report import Report
from amplint.report.json_list import said

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor"}


def render(report: Report) -> str:
    """The list, `[]` if there are no findings; paths are relative to CI_PROJECT_DIR, else to the working directory."""
    known = fingerprints(report.findings, report.texts)
    return json.dumps([_issue(*pair) for pair in zip(report.findings, known, strict=True)], indent=2) + "\n"


def _issue(finding: Finding, fingerprint: str) -> dict[str, Any]:
    path = _relative(finding.filename)
    place = finding.place
    begin, end = (place.row, place.end_row) if place.cell is None else (1, 1)
    return {
        "check_name": finding.code,
        "description": said(finding),
        "severity": "info" if finding.refuted else _SEVERITIES[finding.severity],
        "fingerprint": fingerprint_of_path(fingerprint, path),
        "location": {"path": path, "lines": {"begin": begin, "end": max(begin, end)}},
    }


def fingerprint_of_path(fingerprint: str, path: str) -> str:
    """A fingerprint that two files with the same text do not share."""
    import hashlib

    return hashlib.sha256(f"{path}\0{fingerprint}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _relative(filename: str) -> str:
    base = os.environ.get("CI_PROJECT_DIR") or os.getcwd()
    path = os.path.relpath(os.path.abspath(filename), base)
    return path.replace(os.sep, "/")
