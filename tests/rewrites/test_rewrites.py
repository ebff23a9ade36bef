"""A right program stays right however it is written, and a wrong one wrong: what is told stays the same.

A sample of the rules' examples, chosen by what they say. All of them, the cases, and combinations:
`python -m tests.rewrites.measure`.
"""

import pytest

from tests.rewrites.losses import LOST, TOLD
from tests.rewrites.measure import compared, part_of, sources

SHARE = 0.03
PARTS = 8
ALL = list(sources("examples"))


def changed(outcomes):
    """What was lost and what was added, with the rewrite and the program; what is listed with a reason is left out."""
    found = []
    for one in outcomes:
        (rewrite,) = one.names
        found += [(rewrite, "lost", rule, one.source) for rule in one.lost if (rewrite, rule) not in LOST]
        found += [(rewrite, "told", rule, one.source) for rule in one.false if (rewrite, rule) not in TOLD]
        found += [(rewrite, one.error, one.source)] if one.error else []
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_told_stays_the_same(part):
    programs = [one for one in ALL if int(part_of(one.text, ()) * PARTS) == part]
    assert changed(outcome for one in programs for outcome in compared(one, 1, SHARE)) == []


@pytest.mark.parametrize(("rewrite", "rule"), sorted({**LOST, **TOLD}))
def test_what_is_listed_is_still_so(rewrite, rule):
    title = {**LOST, **TOLD}[rewrite, rule].where
    programs = [one for one in ALL if one.name.partition(":")[0] == title]
    outcomes = [outcome for one in programs for outcome in compared(one, 1, 1.0, (rewrite,))]
    assert any(rule in (*one.lost, *one.false) for one in outcomes), "it is told the same now: its entry must go"
