"""The pages of the rules that speak, below what they say."""

from __future__ import annotations

from collections.abc import Iterable

from amplint.catalogue.pages import page
from amplint.findings import Finding
from amplint.selection import known_rules


def pages(findings: Iterable[Finding]) -> str:
    """The page of each rule, once, in the order in which they speak; empty if none does."""
    codes = dict.fromkeys(finding.code for finding in findings)
    return "".join(f"{page(known_rules()[code], 'text')}\n" for code in codes)
