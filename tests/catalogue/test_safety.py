"""What a safe and an unsafe fix are is said in the same words wherever it is said."""

import re
from pathlib import Path

import pytest

from amplint.arguments import check_arguments
from amplint.catalogue import RULES
from amplint.catalogue.remedy import NUMBERS_CHANGE, NUMBERS_STAY, SAFE_MEANS, UNSAFE_MEANS, Safety

ROOT = Path(__file__).parents[2]
FIX = re.compile(r"^## Fix\n\n(.*?)^## ", re.M | re.S)
SAFE = sorted(name for name, rule in RULES.items() if rule.remedy is not None and rule.remedy.safety is Safety.SAFE)


def spaced(text):
    return " ".join(text.split())


def texts():
    yield "the site", spaced((ROOT / "docs" / "fixes.md").read_text(encoding="utf-8"))
    yield "CONTRIBUTING", spaced((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    yield "--help", spaced(check_arguments().format_help())


@pytest.mark.parametrize(("where", "text"), list(texts()), ids=lambda value: value if len(value) < 20 else "")
def test_every_text_says_the_same_of_safe_and_unsafe_fixes(where, text):
    assert SAFE_MEANS in text
    assert UNSAFE_MEANS in text


@pytest.mark.parametrize("where", ["docs/fixes.md", "CONTRIBUTING.md"])
def test_it_is_told_that_numbers_change_and_where_they_do_not(where):
    text = spaced((ROOT / where).read_text(encoding="utf-8"))
    assert NUMBERS_CHANGE in text
    assert NUMBERS_STAY in text


@pytest.mark.parametrize("name", SAFE)
def test_a_page_with_a_safe_fix_says_whether_numbers_change(name):
    found = FIX.search(RULES[name].page)
    assert found is not None
    text = spaced(found[1])
    assert text.endswith(NUMBERS_CHANGE) is not text.endswith(NUMBERS_STAY)
