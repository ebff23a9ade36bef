"""What was done wrong, where, what led to it, and how often: each rule once per place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from amplint.catalogue.rule import Rule, Tier
from amplint.catalogue.through import words_of
from amplint.dialects import advice as advised
from amplint.protocol.events import Site
from amplint.protocol.state import Moment


class ProtocolViolation(Exception):
    """Raised in mode `raise` by the call that proves a violation, or at the end if it is known only then."""


@dataclass(frozen=True)
class Earlier:
    """An earlier event that belongs to a violation, and what happened there."""

    event: str
    site: Site


@dataclass
class Violation:
    """One rule broken at one place; `window` and the words are those of the first time, `count` counts all times, and
    `windows` the windows in which it was, each of one optimizer (`owner`)."""

    code: str
    severity: str
    message: str
    advice: str
    site: Site
    previous: tuple[Earlier, ...] = ()
    window: int = 0
    count: int = 1
    windows: int = 1
    owner: str = field(default="", repr=False)
    latest: dict[str, int] = field(default_factory=dict, repr=False)
    hides: tuple[str, ...] = field(default=(), repr=False)

    @property
    def key(self) -> tuple[str, Site]:
        """What makes two violations the same."""
        return (self.code, self.site)

    def often(self) -> str:
        """How often it was, and in how many windows where that is another number; empty for once."""
        if self.count < 2:
            return ""
        among = f" in {self.windows} window{'s'[: self.windows != 1]}" if self.windows != self.count else ""
        return f"{self.count} times{among}"

    def text(self) -> str:
        """Message and places, as an exception or a warning says them."""
        earlier = "".join(f"\n  {found.event}: {_shown(found.site)}" for found in self.previous)
        return f"[{self.code}] {self.message}\n  at {_shown(self.site)}{earlier}\n  help: {self.advice}"


def _shown(site: Site) -> str:
    return f"{site.path}:{site.row}"


def violation_of(rule: Rule, moment: Moment, words: Mapping[str, str] | None = None) -> Violation:
    """The violation that a moment shows."""
    mild = rule.tier is not Tier.ERROR or (rule.milder is not None and rule.milder(moment))
    spoken = {**words_of(rule, moment), **(words or {})}
    return Violation(
        code=rule.id,
        severity="warning" if mild else "error",
        message=_filled(rule.message, spoken),
        advice=_filled(advised(rule.id, rule.advice, spoken), spoken),
        site=rule.site(moment),
        previous=_led_to(rule, moment),
        window=moment.ledger.window.steps + 1,
        hides=rule.hides,
        owner=moment.name,
    )


def _led_to(rule: Rule, moment: Moment) -> tuple[Earlier, ...]:
    """The events of the rule's witness; without any, the event that showed the violation."""
    site = rule.site(moment)
    found = [
        Earlier(what, event.site) for kind, what in rule.because if (event := rule.earlier(moment, kind)) is not None
    ]
    return tuple(earlier for earlier in found if earlier.site != site)


def _filled(template: str, words: Mapping[str, str]) -> str:
    """A message with its words; the braces of code in it are left alone."""
    for name, word in words.items():
        template = template.replace("{" + name + "}", word)
    return template


class Violations:
    """Those found so far, in the order in which they were first seen."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, Site], Violation] = {}

    def add(self, new: Violation) -> bool:
        """Counts a violation; True when it is the first of its kind at its place."""
        known = self._found.get(new.key)
        if known is None:
            new.latest = {new.owner: new.window}
            self._found[new.key] = new
            return True
        known.count += 1
        known.windows += new.window != known.latest.get(new.owner)
        known.latest[new.owner] = new.window
        if known.severity == "warning" and new.severity == "error":
            known.severity, known.message = new.severity, new.message
        return False

    def visible(self) -> list[Violation]:
        """All of them but those that another one makes superfluous, by place."""
        return sorted(shown(self._found.values()), key=lambda one: (one.site, one.code))


def shown(found: Iterable[Violation]) -> list[Violation]:
    """Those that no other one hides."""
    all_of_them = list(found)
    hidden = {name for one in all_of_them for name in one.hides}
    return [one for one in all_of_them if one.code not in hidden]
