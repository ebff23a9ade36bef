"""SARIF 2.1.0, as code scanning services read it: results with the path to each mistake, its fixes and its page.

The format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. What GitHub takes of it:
https://docs.github.com/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from amplint.catalogue.pages import page, unfilled
from amplint.catalogue.rule import Rule, Tier
from amplint.catalogue.table import summary
from amplint.findings import Finding, Fix, Place, Severity
from amplint.fingerprint import fingerprints
from amplint.report import Report
from amplint.report.gitlab import fingerprint_of_path
from amplint.report.json_list import said
from amplint.report.links import rule_url, site
from amplint.selection import known_rules

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "SRCROOT"

Json = dict[str, Any]


def render(report: Report) -> str:
    """One log with one run; its results are in the order of the findings. Pure ASCII."""
    rules = {name: rule for name, rule in known_rules().items() if name in {one.code for one in report.findings}}
    numbers = {name: at for at, name in enumerate(rules)}
    known = fingerprints(report.findings, report.texts)
    run = {
        "tool": {"driver": _driver(rules.values(), report.version)},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"uri": Path.cwd().as_uri() + "/"}},
        "results": [_result(one, numbers[one.code], mark) for one, mark in zip(report.findings, known, strict=True)],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _driver(rules: Iterable[Rule], version: str) -> Json:
    about = {**({"semanticVersion": version} if version else {}), **({"informationUri": site()} if site() else {})}
    return {"name": "amplint", **about, "rules": list(map(_rule, rules))}


def _rule(rule: Rule) -> Json:
    url = rule_url(rule.id)
    return {
        "id": rule.id,
        "shortDescription": {"text": summary(rule.page)},
        "fullDescription": {"text": unfilled(rule.message)},
        "help": {"text": page(rule, "text"), "markdown": page(rule, "markdown")},
        "defaultConfiguration": {"level": "error" if rule.tier is Tier.ERROR else "warning"},
        "properties": {"tags": [rule.family], "precision": "very-high" if rule.tier is Tier.ERROR else "high"},
        **({"helpUri": url} if url else {}),
    }


def _result(finding: Finding, number: int, fingerprint: str) -> Json:
    artifact = _artifact(finding.filename)
    steps = [(event.filename or finding.filename, event.place, event.what) for event in finding.witness]
    return {
        "ruleId": finding.code,
        "ruleIndex": number,
        "level": _level(finding),
        "message": {"text": said(finding)},
        "locations": [_location(finding.filename, finding.place)],
        "partialFingerprints": {"amplint/v1": fingerprint_of_path(fingerprint, artifact["uri"])},
        **({"relatedLocations": [_related(*step) for step in enumerate(steps, start=1)]} if steps else {}),
        **({"codeFlows": [_flow([*steps, (finding.filename, finding.place, finding.message)])]} if steps else {}),
        **({"properties": {"run": finding.live.status, "why": finding.live.what}} if finding.live else {}),
        **({"fixes": [_fix(finding.filename, finding.fix)]} if finding.fix and finding.fix.edits else {}),
    }


def _level(finding: Finding) -> str:
    if finding.refuted:
        return "note"
    return "error" if finding.severity is Severity.ERROR else "warning"


def _related(number: int, step: tuple[str, Place, str]) -> Json:
    filename, place, what = step
    return {"id": number, **_location(filename, place), "message": {"text": what}}


def _flow(steps: list[tuple[str, Place, str]]) -> Json:
    places = [{"location": {**_location(name, place), "message": {"text": what}}} for name, place, what in steps]
    return {"threadFlows": [{"locations": places}]}


def _fix(filename: str, fix: Fix) -> Json:
    replacements = [
        {"deletedRegion": _region(edit.place), "insertedContent": {"text": edit.content}} for edit in fix.edits
    ]
    changes = [{"artifactLocation": _artifact(filename), "replacements": replacements}]
    return {"description": {"text": fix.message}, "artifactChanges": changes}


def _location(filename: str, place: Place) -> Json:
    where: Json = {"physicalLocation": {"artifactLocation": _artifact(filename), "region": _region(place)}}
    if place.cell is not None:  # rows count within the cell
        where["logicalLocations"] = [{"name": f"cell {place.cell}", "kind": "module"}]
    return where


def _region(place: Place) -> Json:
    return {
        "startLine": place.row,
        "startColumn": place.column,
        "endLine": place.end_row,
        "endColumn": place.end_column,
    }


def _artifact(filename: str) -> Json:
    """A file by its address: relative to the working directory where it lies below that."""
    if os.path.isabs(filename):
        return {"uri": Path(filename).as_uri()}
    return {"uri": quote(os.fsencode(filename.replace(os.sep, "/"))), "uriBaseId": ROOT}
