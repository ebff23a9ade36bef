"""The documentation site says what is true of the code, and leads to what is there."""

from __future__ import annotations

import posixpath
import re

import pytest

from amplint.keys import KEYS
from amplint.report import links
from amplint.selection import known_rules
from amplint.settings import Overrides, load
from tests.project import site
from tests.project.generated import ROOT

WRITTEN = sorted(file.name for file in site.DOCS.glob("*.md") if not file.name.startswith("_"))
TOML = re.compile(r"^```toml\n(\[tool\.amplint.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)#\s]+\.md)(?:#[^)]*)?\)")


def text(name):
    return (site.DOCS / name).read_text(encoding="utf-8")


def everything():
    """Every page as it is built, by its place."""
    pages = {**site.pages(), **{name: text(name) for name in WRITTEN}}
    return {name: site.linked(page, name) for name, page in pages.items()}


def test_every_rule_has_a_page_where_findings_lead_to():
    assert {f"rules/{name}.md" for name in known_rules()} <= set(site.pages())


def test_a_rules_page_shows_what_is_told_and_by_whom():
    page = site.rule_page(known_rules()["clip-before-unscale"])
    assert page.startswith("# clip-before-unscale\n")
    assert "> gradients are clipped while they still carry the loss scale" in page
    assert "The linter and the guard can tell it." in page
    assert "expect:" not in page
    assert "The guard can tell it." in site.rule_page(known_rules()["collapsed-loss-scale"])
    assert "The linter can tell it." in site.rule_page(known_rules()["deprecated-cuda-amp"])


def test_every_link_between_pages_leads_to_one():
    pages = everything()
    for name, page in pages.items():
        for target in LINK.findall(page):
            if not target.startswith("https://"):
                assert posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) in pages, (name, target)


def test_names_of_rules_lead_to_their_pages_and_code_does_not():
    told = site.linked("`missing-step` and `no-rule`\n```\n`missing-step`\n```\n# `missing-step`\n", "usage.md")
    assert told == "[`missing-step`](rules/missing-step.md) and `no-rule`\n```\n`missing-step`\n```\n# `missing-step`\n"
    assert site.linked("`missing-step`", "rules/missing-step.md") == "`missing-step`\n"
    assert site.linked("`missing-step`", "rules/index.md") == "[`missing-step`](missing-step.md)\n"


def test_every_page_that_is_written_stands_in_the_navigation_once():
    named = re.findall(r"^ +- (?:\w+: )?([\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.M)
    assert sorted(named) == sorted([*WRITTEN, "benchmarks.md", "changelog.md", "first-sight.md"])


def test_what_is_generated_in_a_page_is_made_and_all_that_can_be_stands_somewhere():
    named = [name for page in WRITTEN for name in site.GENERATED.findall(text(page))]
    assert {"keys", "frameworks", "grads", "stage", "output"} <= set(named)
    assert set(named) <= set(site.PARTS)


def test_every_key_is_told():
    told = site.configuration_keys()
    assert all(f"| `{name}` |" in told for name in KEYS)


@pytest.mark.parametrize("name", [name for name in WRITTEN if TOML.search(text(name))])
def test_a_configuration_that_is_shown_is_accepted(tmp_path, name):
    for block in TOML.findall(text(name)):
        (tmp_path / "pyproject.toml").write_text(block, encoding="utf-8")
        load(Overrides(), config=tmp_path / "pyproject.toml")


def test_configurations_are_shown():
    assert {"configuration.md", "frameworks.md"} <= {name for name in WRITTEN if TOML.search(text(name))}


def test_as_long_as_the_site_has_no_address_nobody_is_led_there():
    assert (links.rule_url("clip-before-unscale") is None) is not bool(site.address())
