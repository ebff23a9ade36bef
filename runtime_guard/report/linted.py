"""What the static half says of the files that took part in a run, each finding held against the run."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def linted(report: Mapping[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """The findings as `amplint --output-format json` gives them, and the same for people.

    amplint runs in a process of its own, so that the training process loads nothing of it. What goes wrong there is
    said in the text.
    """
    files = sorted(report["files"])
    if not files:
        return [], "runtime_guard: no file of the run can be read, so there is nothing to lint\n"
    with tempfile.TemporaryDirectory(prefix="runtime_guard-") as folder:
        live, found = Path(folder) / "live.json", Path(folder) / "static.json"
        live.write_text(json.dumps(report, default=str), encoding="utf-8")
        told = ("--output-format", "full", "--output-format", f"json:{found}")
        command = [sys.executable, "-m", "amplint", "check", *told, "--runtime-report", str(live), "--", *files]
        ended = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace")
        findings = json.loads(found.read_text(encoding="utf-8")) if found.exists() else []
    return findings, ended.stdout + ended.stderr
