"""One JSON object for each finding, each on a line of its own: what `json` holds, for tools that read line by line."""

from __future__ import annotations

import json

from amplint.report import Report
from amplint.report.json_list import as_json


def render(report: Report) -> str:
    """A line for each finding; pure ASCII."""
    return "".join(json.dumps(as_json(finding)) + "\n" for finding in report.findings)
