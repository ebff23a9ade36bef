"""Which rules a run could break, by what has happened in it, and why it could not break the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from amplint.catalogue.rule import Rule
from amplint.protocol.events import Kind

_OF_RANKS = "distributed"
_TOLD_IN_A_RUN = frozenset({"scaler", "checkpoint"})
"""The families whose facts of the text a run tells too: how a scaler is made, what is saved and loaded."""


def out_of_reach(rules: Iterable[Rule], seen: Collection[Kind], ranks: int, measured: bool) -> dict[str, str]:
    """Of the rules that this run could not break, why. `seen`: the kinds of event that came; `ranks`: how many there
    are; `measured`: numbers are read."""
    return {rule.id: why for rule in rules if (why := _reason(rule, seen, ranks, measured))}


def _reason(rule: Rule, seen: Collection[Kind], ranks: int, measured: bool) -> str | None:
    asked = {kind for condition in rule.when for kind in condition.kinds} | set(rule.reads if rule.observe else ())
    if not asked:
        return None if rule.family in _TOLD_IN_A_RUN else "only the source shows it: run `amplint`"
    if rule.needs_numbers and not measured:
        return "no numbers are read"
    if rule.family == _OF_RANKS and ranks < 2:
        return "there is one process"
    if asked.isdisjoint(seen) and Kind.END not in asked:
        return f"never seen: {' or '.join(sorted(kind.value for kind in asked))}"
    return None
