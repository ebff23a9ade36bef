"""Every example that shows a mistake with a remedy: mended, it is clean in both halves, and stays what it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from amplint.analysis import all_findings_of
from amplint.catalogue import RULES
from amplint.catalogue.examples import Example, examples
from amplint.findings import Finding, Severity
from tests.fix.mended import mended
from tests.runtime.live import guarded

CASES = Path(__file__).parents[1] / "cases"
PAGES = [(name, rule.page) for name, rule in RULES.items()]
PAGES += [(path.stem, path.read_text(encoding="utf-8")) for path in sorted(CASES.glob("*.md"))]


def has_a_remedy(example: Example) -> bool:
    return any(RULES[name].remedy is not None for name, _ in example.marked("expect") if name in RULES)


SHARE = 12
"""Of the cases, one in so many is mended; of the pages, every example."""
EVERY = [(name, example) for name, page in PAGES for example in examples(page) if has_a_remedy(example)]
EXAMPLES = [
    pytest.param(example, id=f"{name}:{example.row}")
    for at, (name, example) in enumerate(EVERY)
    if name in RULES or at % SHARE == 0
]
OF_PAGES = [
    pytest.param(name, example, id=f"{name}:{example.row}")
    for name, rule in RULES.items()
    for example in list(examples(rule.page))[:1]
    if example.bad and rule.remedy is not None and name in {mark for mark, _ in example.marked("expect")}
]


def counted(findings: Iterable[Finding]) -> Counter[str]:
    return Counter(finding.code for finding in findings)


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_mended_program_says_nothing_new_and_is_mended_for_good(example):
    before, after, done = mended(example.source)
    revealed = {name for code in done for name in RULES[code].remedy.reveals}
    told = counted(one for one in after.findings if one.severity is Severity.ERROR or one.code not in revealed)
    more = told - counted(before.findings)
    there = counted(all_findings_of(example.source, "example.py")) if more else more
    assert all(told[code] <= there[code] for code in more)
    assert mended(after.script.text)[2] == []


@pytest.mark.parametrize(("name", "example"), OF_PAGES)
def test_the_mistake_that_a_page_shows_is_mended_in_both_halves(name, example, tmp_path):
    _, after, done = mended(example.source)
    assert name in done
    assert name not in counted(after.findings)
    if example.live:
        found = guarded(after.script.text, tmp_path)
        assert name not in {violation.code for violation in found.violations}
