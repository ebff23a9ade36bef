"""Which rules may have something to say about a moment, found once for each state of the parts that have few values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from amplint.catalogue.rule import Condition, Rule
from amplint.protocol.events import Kind
from amplint.protocol.facts import Fact
from amplint.protocol.ledger import finite_parts
from amplint.protocol.readings import Reading
from amplint.protocol.state import Moment
from amplint.protocol.values import with_changes

Question = tuple[Rule, Condition]

_NONE: list[Rule] = []
_FREQUENT = frozenset({Kind.BACKWARD, Kind.UNSCALE, Kind.CLIP, Kind.UPDATE, Kind.ZERO_GRAD})


class Questions:
    """The conditions of all rules, sorted by what they ask about.

    `unasked`: the frequent kinds of event about which nobody has a question that concerns schedulers.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        rules = tuple(rules)
        self._all: tuple[Question, ...] = tuple((rule, condition) for rule in rules for condition in rule.when)
        self._finders = tuple((rule, rule.find) for rule in rules if rule.find is not None)
        self._observers = tuple((rule, rule.observe) for rule in rules if rule.observe is not None)
        asked = {kind for _, condition in self._all if condition.of_scheduler for kind in condition.kinds}
        self.unasked = _FREQUENT - asked
        self._known: dict[tuple[Kind, bool, object], tuple[Question, ...]] = {}

    def broken(self, moment: Moment) -> list[Rule]:
        """The rules that a moment breaks, each once."""
        kind, ledger = moment.event.kind, moment.ledger
        key = (kind, moment.of_scheduler, finite_parts(ledger))
        asked = self._known.get(key)
        if asked is None:
            asked = tuple(question for question in self._all if question[1].possible(kind, moment.of_scheduler, ledger))
            self._known[key] = asked
        found = [rule for rule, condition in asked if condition.certain(moment)] if asked else _NONE
        return found if len(found) < 2 else list({rule.id: rule for rule in found}.values())

    def observed(self, moment: Moment, reading: Reading | None = None) -> list[tuple[Rule, Mapping[str, str]]]:
        """What the rules about numbers say; `reading` is one that was not known when the moment came."""
        if reading is not None:
            moment = with_changes(moment, event=with_changes(moment.event, reading=reading))
        if moment.event.reading is None and moment.event.kind is not Kind.END:
            return []
        asked = ((rule, observe(moment)) for rule, observe in self._observers)
        return [(rule, words) for rule, words in asked if words is not None]

    def told(self, fact: Fact) -> list[tuple[Rule, Mapping[str, str]]]:
        """What the rules about arguments say of a call."""
        asked = ((rule, find(fact)) for rule, find in self._finders)
        return [(rule, words) for rule, words in asked if words is not None]

    def wrong(self, moment: Moment) -> bool:
        """Whether a moment breaks any rule."""
        return bool(self.broken(moment) or self.observed(moment))
