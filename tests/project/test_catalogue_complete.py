"""Nothing in the catalogue is forgotten: file, registry, page, examples, source and test go together."""

import re
from pathlib import Path

import pytest

from amplint.catalogue import RULES
from amplint.catalogue.examples import examples

ROOT = Path(__file__).parents[2]
CATALOGUE = ROOT / "amplint" / "catalogue"
CASES = ROOT / "tests" / "cases"
FILES = {
    path.stem.replace("_", "-"): path for path in sorted(CATALOGUE.glob("*/*.py")) if not path.name.startswith("_")
}
LINK = re.compile(r"https://[^\s)>]+")
EXPECTED = re.compile(r"# expect: ([\w-]+(?:, *[\w-]+)*)")


def expected(text):
    return {rule.strip() for rules in EXPECTED.findall(text) for rule in rules.split(",")}


def proved():
    """Every rule that a page or a case expects on some line."""
    pages = (rule.page for rule in RULES.values())
    cases = (path.read_text(encoding="utf-8") for path in sorted(CASES.rglob("*")) if path.is_file())
    return set().union(*map(expected, [*pages, *cases]))


def test_every_rule_file_is_in_the_registry_and_every_entry_has_a_file():
    assert set(FILES) == set(RULES)


def test_a_rule_is_filed_under_its_own_id():
    assert {name: rule.id for name, rule in RULES.items()} == {name: name for name in RULES}


@pytest.mark.parametrize("name", sorted(RULES))
def test_the_family_is_the_folder(name):
    assert RULES[name].family == FILES[name].parent.name


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_page_shows_the_mistake_and_the_cure(name):
    shown = list(examples(RULES[name].page))
    assert any(example.bad and name in {rule for rule, _ in example.marked("expect")} for example in shown)
    assert any("good" in example.words for example in shown)


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_page_names_its_source(name):
    assert LINK.search(RULES[name].page)


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_rule_says_what_happens_and_what_to_do(name):
    assert RULES[name].message
    assert RULES[name].advice


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_rule_hides_only_rules_that_exist(name):
    assert set(RULES[name].hides) <= set(RULES)


def test_every_rule_has_a_test():
    assert set(RULES) - proved() == set()
