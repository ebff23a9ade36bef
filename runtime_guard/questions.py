"""Which rules may have something to say about a moment, found once for each state of the parts that have few values."""

from __future__ import annotations

from collections.abc import Iterable

from amplint.catalogue.rule import Condition, Rule
from amplint.protocol.events import Kind
from amplint.protocol.ledger import finite_parts
from amplint.protocol.state import Moment

Question = tuple[Rule, Condition]

_NONE: list[Rule] = []
_FREQUENT = frozenset({Kind.BACKWARD, Kind.UNSCALE, Kind.CLIP, Kind.UPDATE, Kind.ZERO_GRAD})


class Questions:
    """The conditions of all rules, sorted by what they ask about.

    `unasked`: the frequent kinds of event about which nobody has a question that concerns schedulers.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._all: tuple[Question, ...] = tuple((rule, condition) for rule in rules for condition in rule.when)
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
