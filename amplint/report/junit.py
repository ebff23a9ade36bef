"""JUnit's XML as Jenkins, GitLab and Azure read it: a suite for each file, a case for each finding.

An error is a failed case. A warning fails nothing, so its case is a skipped one that says why, unless warnings are to
fail too. The schema: junit-10.xsd of Jenkins' xUnit plugin (3.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from amplint.findings import Finding, Severity
from amplint.report import Report
from amplint.report.concise import position
from amplint.report.json_list import said

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """One XML document; a single passed case if there are no findings."""
    findings = report.findings
    failures = sum(_fails(finding, report.strict) for finding in findings)
    suites = [_suite(name, list(group), report.strict) for name, group in groupby(findings, lambda one: one.filename)]
    if not suites:
        suites = [_opened("testsuite", name="amplint", tests="1", failures="0", errors="0", skipped="0")]
        suites += ["    " + _opened("testcase", "/", name="no findings", classname="amplint"), "  </testsuite>"]
    counts = {"tests": str(len(findings) or 1), "failures": str(failures), "errors": "0"}
    head = ['<?xml version="1.0" encoding="utf-8"?>', _opened("testsuites", name="amplint", **counts)]
    return "\n".join([*head, *(f"  {line}" if line.startswith("<testsuite") else line for line in suites)]) + (
        "\n</testsuites>\n"
    )


def _suite(filename: str, findings: list[Finding], strict: bool) -> str:
    failures = sum(_fails(finding, strict) for finding in findings)
    counts = {"tests": str(len(findings)), "failures": str(failures), "skipped": str(len(findings) - failures)}
    return "\n".join(
        [
            _opened("testsuite", name=filename, errors="0", **counts),
            *_cases(findings, strict),
            "  </testsuite>",
        ]
    )


def _cases(findings: Iterable[Finding], strict: bool) -> Iterable[str]:
    for finding in findings:
        kind = "failure" if _fails(finding, strict) else "skipped"
        told = said(finding)
        yield "    " + _opened("testcase", name=f"{finding.code} ({position(finding)})", classname=finding.filename)
        body = escape(_allowed(f"{position(finding)}: {told}"))
        yield f"      {_opened(kind, type=finding.severity.value, message=told)}{body}</{kind}>"
        yield "    </testcase>"


def _fails(finding: Finding, strict: bool) -> bool:
    return not finding.refuted and (strict or finding.severity is Severity.ERROR)


def _opened(tag: str, end: str = "", **attributes: str) -> str:
    return f"<{tag} {' '.join(f'{name}={quoteattr(_allowed(value))}' for name, value in attributes.items())}{end}>"


def _allowed(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
