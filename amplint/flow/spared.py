"""Which runs are known to be without a mistake that others make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from amplint.catalogue.rule import Rule
from amplint.flow.breaches import Breach, Trace, asking_of, comes_to, moments, visits
from amplint.protocol.events import STEPS, Event, Kind, Site

_PROGRESS = frozenset({Kind.BACKWARD, Kind.EPOCH_END})

_ON_CUDA = "torch.cuda.is_available()"


class Spared:
    """Which runs are known to be without a mistake that others make.

    A run says nothing on a machine without CUDA, which is a rehearsal; one that was ended early, or before its first
    update; one in which more is not followed; one in which the mistake is made and another one is told for it, or in
    which nobody knows what decides.
    """

    def __init__(self, every: Sequence[tuple[Trace, list[Breach]]], rules: Mapping[str, Rule]) -> None:
        self._every, self._asking = every, asking_of(rules)
        self._doubts: dict[int, frozenset[tuple[str, Site]]] = {}

    def by(self, breach: Breach) -> list[Trace]:
        """The runs that come to the place of a breach and are known to be without it."""
        return [
            trace
            for at, (trace, found) in enumerate(self._every)
            if trace.choices.get(_ON_CUDA, True)
            and all(one.key != breach.key for one in found)
            and (breach.site in trace.idle or comes_to(breach.site, trace.events))
            and goes_on(breach, trace)
            and _goes_as_far(breach, trace)
            and trains(breach, trace)
            and _is_followed(breach, trace)
            and breach.key not in self._doubted(at)
        ]

    def _doubted(self, at: int) -> frozenset[tuple[str, Site]]:
        if at not in self._doubts:
            self._doubts[at] = frozenset(_doubted(self._every[at][0], self._asking))
        return self._doubts[at]


def goes_on(breach: Breach, trace: Trace) -> bool:
    """Whether a run goes on for as long as it took the mistake to show: to the end, where only that shows it. One that
    was cut, or that leaves its loop over epochs earlier, does not."""
    shown = breach.shown
    if shown is None or not (trace.cut or _epochs(trace.events) < _epochs(shown.events)):
        return True
    if shown.moment.event.kind is Kind.END:
        return False
    return trace.visited[breach.site] >= visits(breach, shown.events[: shown.at + 1])


def _epochs(events: Iterable[Event]) -> int:
    return sum(event.kind is Kind.EPOCH_END for event in events)


def _goes_as_far(breach: Breach, trace: Trace) -> bool:
    """Whether a run that was ended early had back-propagated, and come to ends of epochs, as often as the one with the
    mistake had when that showed."""
    shown = breach.shown
    if not trace.cut or shown is None:
        return True
    here, there = _gone(trace.events), _gone(shown.events[: shown.at + 1])
    return all(here[kind] >= count for kind, count in there.items())


def _gone(events: Iterable[Event]) -> Counter[Kind]:
    return Counter(event.kind for event in events if event.kind in _PROGRESS)


def trains(breach: Breach, trace: Trace) -> bool:
    """Whether the optimizer of a mistake steps in a run, if it does beside it: a run may be over before its first
    update, or leave each one out."""
    shown = breach.shown
    if shown is None:
        return True
    stepped = {event.optimizer for event in shown.events if event.kind in STEPS}
    own = stepped & {shown.moment.name} or stepped
    return not own or any(event.kind in STEPS and event.optimizer in {None, *own} for event in trace.events)


def _is_followed(breach: Breach, trace: Trace) -> bool:
    """Whether no code runs unseen that does not run beside the mistake: it may hide the same."""
    return breach.shown is None or _unseen(trace.events) <= _unseen(breach.shown.events)


def _unseen(events: Iterable[Event]) -> frozenset[Site]:
    return frozenset(event.site for event in events if event.kind is Kind.OPAQUE)


def _doubted(trace: Trace, asking: Mapping[Kind, list[Rule]]) -> Iterable[tuple[str, Site]]:
    """The rules of which a run cannot say whether they are broken, and where."""
    for moment, _, _ in moments(trace):
        for rule in asking[moment.event.kind]:
            if rule.doubts(moment):
                yield rule.id, rule.site(moment)
