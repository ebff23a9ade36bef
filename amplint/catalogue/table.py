"""The catalogue as markdown tables, one for each family, for the documentation."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from amplint.catalogue.rule import Rule

_HEAD = ("| rule | tier | what happens |", "|---|---|---|")


def table(rules: Iterable[Rule]) -> str:
    """A markdown table of the rules of each family, under the family's name, in the order of the registry."""
    families = groupby(rules, key=lambda rule: rule.family)
    return "\n\n".join(_family(name, list(members)) for name, members in families)


def _family(name: str, rules: list[Rule]) -> str:
    rows = [f"| `{rule.id}` | {_tier(rule)} | {_cell(summary(rule.page))} |" for rule in rules]
    return "\n".join([f"### {name}", "", *_HEAD, *rows])


def summary(page: str) -> str:
    """The first paragraph of a page that is not a heading, on one line; empty for an empty page."""
    paragraphs = (" ".join(paragraph.split()) for paragraph in page.split("\n\n"))
    return next((paragraph for paragraph in paragraphs if paragraph and not paragraph.startswith("#")), "")


def _tier(rule: Rule) -> str:
    tier = rule.tier.name.lower().replace("_", "-")
    return f"opt-in; {tier} in a run" if rule.noisy_unrun else tier


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
