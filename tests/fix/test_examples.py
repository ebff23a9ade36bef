"""Every example that shows a mistake with a remedy: mended, it is clean in both halves, and stays what it is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from amplint.analysis import findings_of, loops_of
from amplint.catalogue import RULES
from amplint.catalogue.examples import Example, examples
from amplint.findings import Severity
from amplint.fix.proof import Document, Reader, fixed
from tests.runtime.live import guarded

READER = Reader(findings_of, loops_of)
CASES = Path(__file__).parents[1] / "cases"
PAGES = [(name, rule.page) for name, rule in RULES.items()]
PAGES += [(path.stem, path.read_text(encoding="utf-8")) for path in sorted(CASES.glob("*.md"))]


def has_a_remedy(example: Example) -> bool:
    return any(RULES[name].remedy is not None for name, _ in example.marked("expect") if name in RULES)


SHARE = 4
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


def mended(source: str) -> tuple[Document, Document, list[str]]:
    """The program before, after all its fixes, and the rules that they were of."""
    before = READER.read(source.encode(), "example.py")
    after, done = fixed(before, lambda script, findings: list(findings), READER, RULES, lambda safety: True)
    return before, after, [finding.code for finding in done]


def counted(document: Document) -> Counter[str]:
    return Counter(finding.code for finding in document.findings)


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_mended_program_says_nothing_new_and_is_mended_for_good(example):
    before, after, done = mended(example.source)
    hidden = {name for code in done for name in RULES[code].hides}
    new = counted(after) - (counted(before) - Counter(done))
    assert set(new) <= hidden
    assert not any(finding.severity is Severity.ERROR for finding in after.findings if finding.code in new)
    again, _ = fixed(after, lambda script, findings: list(findings), READER, RULES, lambda safety: True)
    assert again.data == after.data


@pytest.mark.parametrize(("name", "example"), OF_PAGES)
def test_the_mistake_that_a_page_shows_is_mended_in_both_halves(name, example, tmp_path):
    _, after, done = mended(example.source)
    assert name in done
    assert name not in counted(after)
    if example.live:
        found = guarded(after.script.text, tmp_path)
        assert name not in {violation.code for violation in found.violations}
