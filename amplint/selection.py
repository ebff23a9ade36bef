"""Which rules speak: what the configuration and the command line ask for, and what it comes to for one file.

A selector is a rule id, the name of a family (its default rules; all of them when it is ignored), or ALL. The more
exact selector wins: an id over a family over ALL. Between equals the later one wins: `ignore` after `select`, the
command line after the configuration. `select` on the command line replaces the configuration's `select`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING

from amplint.findings import Finding, Severity
from amplint.source.globs import covers

if TYPE_CHECKING:
    from amplint.catalogue.rule import Rule

ALL, DEFAULT = "ALL", "the default rules"
UNSEEN = ("syntax-error", "unreadable-file")  # nothing was checked there: said unless they are ignored by name


@dataclass(frozen=True)
class Request:
    """One selector, and whether its rules are wanted or not."""

    selector: str
    wanted: bool


@dataclass(frozen=True)
class Selection:
    """The requests in order, and those that hold only for the files that a pattern names."""

    requests: tuple[Request, ...] = (Request(DEFAULT, True),)
    per_file: tuple[tuple[str, tuple[Request, ...]], ...] = ()

    def rules(self, path: str) -> frozenset[str]:
        """The ids of the rules that speak in a file; its path is relative to the configuration, with `/`."""
        silent = tuple(request for pattern, requests in self.per_file if covers(pattern, path) for request in requests)
        return _chosen(self.requests) - _named(silent)


@dataclass(frozen=True)
class Severities:
    """How severe the findings of some rules are, whatever the rule says; an id goes before a family."""

    chosen: tuple[tuple[str, str], ...] = ()

    def of(self, finding: Finding) -> Finding:
        """A finding as severe as it is told."""
        chosen = dict(self.chosen)
        if not chosen:
            return finding
        rule = known_rules().get(finding.code)
        told = chosen.get(finding.code) or chosen.get(rule.family if rule is not None else "")
        return replace(finding, severity=Severity(told)) if told else finding


def requests(
    select: Sequence[str] | None, extend: Iterable[str], ignore: Iterable[str], before: Sequence[Request] = ()
) -> tuple[Request, ...]:
    """The requests of one place (configuration or command line), after those of the place before it."""
    if select is not None:
        before = [request for request in before if not request.wanted] + [Request(name, True) for name in select]
    more = [Request(name, True) for name in extend] + [Request(name, False) for name in ignore]
    return (*before, *more)


def misnamed(names: Iterable[str]) -> str | None:
    """What is wrong with the first name that is no rule, no family and not ALL; None if all are right."""
    for name in names:
        known = [*known_rules(), *_families(), ALL]
        if name not in known:
            near = get_close_matches(name, known, 1) or get_close_matches(name.lower().replace("_", "-"), known, 1)
            advice = f"did you mean `{near[0]}`?" if near else "`amplint rule` lists them"
            return f"no rule or family is called `{name}`; {advice}"
    return None


@cache
def known_rules() -> dict[str, Rule]:
    """All rules by id, amplint's own among them."""
    from amplint.catalogue import RULES
    from amplint.catalogue.own import OWN

    return {**RULES, **OWN}


@cache
def found_by_reading() -> frozenset[str]:
    """The ids of the rules that speak without a run; the others are for the live half."""
    from amplint.catalogue.own import OWN

    return frozenset(name for name, rule in known_rules().items() if name in OWN or rule.when or rule.find)


def _families() -> frozenset[str]:
    return frozenset(rule.family for rule in known_rules().values())


@cache
def _chosen(asked: tuple[Request, ...]) -> frozenset[str]:
    """The rules whose most exact, then latest request wants them."""
    chosen = set()
    for rule in known_rules():
        exactness, at = max(((_exactness(request, rule), at) for at, request in enumerate(asked)), default=(-1, 0))
        if (exactness <= 0 and rule in UNSEEN) or (exactness >= 0 and asked[at].wanted):
            chosen.add(rule)
    return frozenset(chosen)


@cache
def _named(ignored: tuple[Request, ...]) -> frozenset[str]:
    return frozenset(rule for rule in known_rules() if any(_exactness(request, rule) >= 0 for request in ignored))


def _exactness(request: Request, rule: str) -> int:
    """2 for the rule's id, 1 for its family, 0 for a selector of everything, -1 if the request is about others."""
    from amplint.catalogue.rule import Tier

    if request.selector == rule:
        return 2
    if request.selector == ALL:
        return 0
    declared = known_rules()[rule]
    if declared.reading_tier is Tier.OPT_IN and request.wanted:
        return -1
    if request.selector == declared.family:
        return 1
    return 0 if request.selector == DEFAULT else -1
