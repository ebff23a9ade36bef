"""What the static half says of an example, in the words of its marks."""

from __future__ import annotations

from amplint.analysis import findings_of
from amplint.catalogue import RULES
from amplint.catalogue.examples import Example
from amplint.catalogue.rule import Tier
from amplint.findings import Finding


def expected(example: Example) -> list[str]:
    """Every `# expect:` mark as `row: rule`, the row counted within the block; sorted.

    What only numbers show, measured in a run, is not expected of the static half.
    """
    if "live-only" in example.words:
        return []
    return _in_words(example, {mark for mark in example.marked("expect") if not _needs_a_run(mark[0])})


def missed(example: Example) -> list[str]:
    """Every `# missed:` mark, a known gap, in the same form."""
    return _in_words(example, example.marked("missed"))


def told(example: Example) -> list[str]:
    """Every finding in the same form; two findings of one rule in one row are two."""
    return in_words(example, findings(example))


def findings(example: Example) -> list[Finding]:
    """What the static half says of an example. Opt-in rules are asked by a mark."""
    asked = {rule for mark in ("expect", "missed") for rule, _ in example.marked(mark)}
    return findings_of(example.source, "example.py", noisy="opt-in" in example.words or any(map(_is_noisy, asked)))


def in_words(example: Example, found: list[Finding]) -> list[str]:
    """Findings as `row: rule`."""
    return _in_words(example, [(finding.code, finding.place.row) for finding in found])


def _is_noisy(name: str) -> bool:
    return name in RULES and RULES[name].reading_tier is Tier.OPT_IN


def _needs_a_run(name: str) -> bool:
    return name in RULES and RULES[name].needs_a_run


def _in_words(example: Example, marks: set[tuple[str, int]] | list[tuple[str, int]]) -> list[str]:
    return [f"{row - example.stage_rows}: {rule}" for rule, row in sorted(marks, key=lambda mark: (mark[1], mark[0]))]
