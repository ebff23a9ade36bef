"""A JSON list in the shape of ruff's, with the path to each mistake as `witness`."""

from __future__ import annotations

import json
import os
from typing import Any

from amplint.findings import Edit, Finding, Fix, Place, Witness
from amplint.report import Report
from amplint.report.links import rule_url


def render(report: Report) -> str:
    """The list, `[]` if there are no findings; pure ASCII, so that no terminal's encoding is in the way."""
    return json.dumps([as_json(finding) for finding in report.findings], indent=2) + "\n"


def as_json(finding: Finding) -> dict[str, Any]:
    """One finding. Paths are absolute; `url` is null as long as there is no documentation site."""
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": said(finding),
        "filename": os.path.abspath(finding.filename),
        "cell": finding.place.cell,
        "location": _start(finding.place),
        "end_location": _end(finding.place),
        "fix": _fix(finding.fix),
        "url": rule_url(finding.code),
        "witness": [_event(event) for event in finding.witness],
        **({"live": {"status": finding.live.status, "what": finding.live.what}} if finding.live else {}),
    }


def said(finding: Finding) -> str:
    """What happens to the numbers, and what to do, in one line."""
    return "; ".join(filter(None, (finding.message, finding.advice)))


def _event(event: Witness) -> dict[str, Any]:
    """An earlier event; its cell and its file where it has one and where that is another."""
    told: dict[str, Any] = {**_start(event.place), "what": event.what}
    if event.place.cell is not None:
        told["cell"] = event.place.cell
    if event.filename is not None:
        told["filename"] = os.path.abspath(event.filename)
    return told


def _fix(fix: Fix | None) -> dict[str, Any] | None:
    if fix is None:
        return None
    return {"applicability": fix.applicability, "message": fix.message, "edits": [_edit(edit) for edit in fix.edits]}


def _edit(edit: Edit) -> dict[str, Any]:
    return {"content": edit.content, "location": _start(edit.place), "end_location": _end(edit.place)}


def _start(place: Place) -> dict[str, int]:
    return {"row": place.row, "column": place.column}


def _end(place: Place) -> dict[str, int]:
    return {"row": place.end_row, "column": place.end_column}
