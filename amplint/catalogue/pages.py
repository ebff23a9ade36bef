"""A rule's page as it is read: in a terminal, as markdown, as JSON; and the list of all rules.

The page is the docstring of the rule's file; what is declared there (tier, halves, message) stands above it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from amplint.catalogue.remedy import Safety
from amplint.catalogue.rule import Rule, Tier
from amplint.catalogue.table import summary

_MARK = re.compile(r" *# (?:expect|missed): [^\n]*")
_FENCE = re.compile(r"^(?P<margin> *)```(?P<head>[^\n]*)\n(?P<body>.*?)^(?P=margin)```$", re.M | re.S)
_WORD = re.compile(r"\{\w+\}")
_TIERS = {Tier.ERROR: "error", Tier.WARNING: "warning", Tier.OPT_IN: "opt-in"}


def page(rule: Rule, output_format: str) -> str:
    """One rule's page as `text`, `markdown` or `json`; ends with a newline."""
    if output_format == "json":
        return _json(as_json(rule))
    told = f"{rule.family} rule, {_tier(rule)}{_fix(rule)}"
    if output_format == "markdown":
        body = _FENCE.sub(_plain_fence, rule.page.strip())
        return f"# {rule.id}\n\n*{told[0].upper()}{told[1:]}.*\n\n{body}\n"
    body = _FENCE.sub(_indented, rule.page.strip()).replace("`", "")
    body = re.sub(r"^#+ (.+)$", lambda found: found[1].upper(), body, flags=re.M)
    return f"{rule.id}: {told}\n\n{body}\n"


def listing(rules: Iterable[Rule], output_format: str) -> str:
    """All rules, family by family, with what each is about; ends with a newline."""
    shown = list(rules)
    if output_format == "json":
        return _json([as_json(rule) for rule in shown])
    families: dict[str, list[Rule]] = {}
    for rule in shown:
        families.setdefault(rule.family, []).append(rule)
    if output_format == "markdown":
        return "\n".join(f"# {name}\n\n{''.join(map(_bullet, members))}" for name, members in families.items())
    width = max((len(rule.id) for rule in shown), default=0)
    return "\n".join(
        f"{name}\n" + "".join(f"  {rule.id:<{width}}  {_tier(rule)}\n" for rule in members)
        for name, members in families.items()
    )


def as_json(rule: Rule) -> dict[str, Any]:
    """What is declared of a rule, and its page."""
    return {
        "id": rule.id,
        "family": rule.family,
        "tier": _tier(rule),
        "message": unfilled(rule.message),
        "advice": unfilled(rule.advice),
        "fix": rule.remedy.safety.value if rule.remedy else None,
        "summary": summary(rule.page),
        "page": rule.page.strip(),
    }


def unfilled(template: str) -> str:
    """What is said in every case: a message with a gap where the program's own words would stand."""
    return _WORD.sub("\N{HORIZONTAL ELLIPSIS}", template)


def _fix(rule: Rule) -> str:
    """How safe its fix is, if it has one."""
    return f", with {'a safe' if rule.remedy.safety is Safety.SAFE else 'an unsafe'} fix" if rule.remedy else ""


def _json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"


def _bullet(rule: Rule) -> str:
    return f"- `{rule.id}` ({_tier(rule)}): {summary(rule.page)}\n"


def _tier(rule: Rule) -> str:
    return f"opt-in; {_TIERS[rule.tier]} in a run" if rule.noisy_unrun else _TIERS[rule.tier]


def _plain_fence(found: re.Match[str]) -> str:
    """The example without the marks that are for the tests."""
    margin = found["margin"]
    return f"{_label(found, margin)}{margin}```python\n{_MARK.sub('', found['body'])}{margin}```"


def _indented(found: re.Match[str]) -> str:
    body = "".join("    " + line for line in _MARK.sub("", found["body"]).splitlines(keepends=True))
    return f"{_label(found, found['margin'])}{body.rstrip()}"


def _label(found: re.Match[str], margin: str) -> str:
    words = found["head"].split()
    kind = next((word for word in ("bad", "good") if word in words), "")
    return f"{margin}{kind.capitalize()}:\n\n" if kind else ""
