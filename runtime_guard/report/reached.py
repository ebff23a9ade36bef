"""Which rows of which files the run went through at its events: what a finding can be held against."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from amplint.protocol.events import Site


def reached(sites: Iterable[Site]) -> dict[str, dict[str, Any]]:
    """For each file that can be read the SHA-256 of its bytes, and the rows of the events and of the calls to them."""
    rows: dict[str, set[int]] = {}
    for site in sites:
        rows.setdefault(site.path, set()).add(site.row)
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(rows):
        try:
            with open(path, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
        except OSError:  # "<string>", a cell, a file of an archive
            continue
        found[path] = {"sha256": digest, "rows": sorted(rows[path])}
    return found


def joined_files(reports: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """What a process and its children went through."""
    found: dict[str, dict[str, Any]] = {}
    for report in reports:
        for path, seen in (report.get("files") or {}).items():
            known = found.get(path)
            if known is None or known["sha256"] != seen["sha256"]:
                found[path] = dict(seen)
            else:
                known["rows"] = sorted({*known["rows"], *seen["rows"]})
    return found
