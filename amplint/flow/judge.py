"""Feeds traces to the protocol and asks the rules of every moment.

A finding has to hold whatever the code that could not be followed does: if it is absent from a run that makes the
same choices of run constants, and the place that it speaks of is reached there, it is dropped. What holds under some
assignment of run constants stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from amplint.catalogue.rule import Rule, Tier
from amplint.flow.attribution import attributed
from amplint.flow.conditions import needed
from amplint.protocol.events import STEPS, Event, Kind, Site
from amplint.protocol.scene import Scene, scene_of
from amplint.protocol.state import Moment, State

MOST_FREE = 8
"""Choices of one run that are doubted."""

_CLIPS = frozenset({"clipping"})
_PRECISION_FLAG = re.compile(r"(?i)\bamp|amp\b|_amp|fp16|half|scaler|mixed|(?<!b)float16")


@dataclass(frozen=True)
class Trace:
    """A run as the judge needs it: its events and its choices.

    `opaque`: choices about what code did that could not be followed. `data`: choices that depend on the batches.
    `open`: what the gradients held before the first event is not known. `cut`: the program itself, or a limit, ended
    the run before its time.
    """

    events: Sequence[Event]
    choices: Mapping[str, bool]
    opaque: frozenset[str] = frozenset()
    data: frozenset[str] = frozenset()
    open: bool = False
    cut: bool = False


@dataclass(frozen=True)
class Shown:
    """A moment, the events of its run, and which of them it is about."""

    moment: Moment
    events: Sequence[Event]
    at: int


@dataclass(frozen=True)
class Breach:
    """A rule broken at a place, with what was known at the moment that showed it.

    `because` is the witness; `assumed` are the choices of conditions without which it does not happen; `latent` are the
    constants that have to be changed first; `calls` are the places of the calls that led there, from the outermost.
    `shown`: where in its trace it shows; `scene`: what happened around that, if a remedy needs it. `otherwise`: the
    choices of its run, each time with another one that is free taken the other way: such runs may refute it.
    """

    rule: str
    site: Site
    mild: bool
    words: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False)
    because: tuple[tuple[Site, str], ...] = field(default=(), compare=False)
    assumed: tuple[tuple[str, bool], ...] = field(default=(), compare=False)
    latent: tuple[str, ...] = ()
    calls: tuple[Site, ...] = field(default=(), compare=False)
    shown: Shown | None = field(default=None, compare=False, repr=False)
    scene: Scene | None = field(default=None, compare=False, repr=False)
    otherwise: tuple[Mapping[str, bool], ...] = field(default=(), compare=False, repr=False)

    @property
    def key(self) -> tuple[str, Site]:
        """What makes two breaches the same finding."""
        return (self.rule, self.site)


def judge(traces: Sequence[Trace], rules: Mapping[str, Rule]) -> list[Breach]:
    """The breaches that stand, each once, the most serious form of it; sorted by place."""
    goes_back = any(_goes_back(trace) for trace in traces)
    meant = [trace for trace in traces if not _contradicts(trace) and _goes_back(trace) is goes_back]
    asking = _asking(rules)
    runs = [(trace, _hidden(list(_breaches(trace, asking)), rules)) for trace in meant]
    unused = _CLIPS if any(map(_steps, meant)) else _CLIPS | {"scaler"}
    runs = [
        (trace, [one for one in found if _steps(trace) or rules[one.rule].family not in unused])
        for trace, found in runs
    ]
    silent = _silent(traces, rules)
    best: dict[tuple[str, Site], Breach] = {}
    for trace, found in runs:
        for breach in found:
            free = trace.opaque | trace.data if rules[breach.rule].needs_every_path else trace.opaque
            if breach.rule in silent or _refuted(breach, trace, free, runs):
                continue
            known = best.get(breach.key)
            if known is None or (known.mild and not breach.mild):
                best[breach.key] = replace(breach, otherwise=_otherwise(trace, free))
    explained = (replace(_set(breach, rules), assumed=_assumed(breach, runs)) for breach in best.values())
    return sorted(explained, key=lambda breach: (breach.site, breach.rule))


def _otherwise(trace: Trace, free: frozenset[str]) -> tuple[Mapping[str, bool], ...]:
    """The choices of a run, each time with another one of the last that are free taken the other way."""
    keys = [key for key in trace.choices if key in free]
    return tuple({**trace.choices, key: not trace.choices[key]} for key in keys[-MOST_FREE:])


def _set(breach: Breach, rules: Mapping[str, Rule]) -> Breach:
    """A breach with what happened around it, where its rule has a remedy."""
    shown = breach.shown
    if shown is None or rules[breach.rule].remedy is None:
        return replace(breach, shown=None)
    scene = scene_of(shown.moment, shown.events, shown.at, breach.words.items())
    return replace(breach, shown=None, scene=scene)


def _steps(trace: Trace) -> bool:
    """Whether an optimizer steps in a run."""
    return any(event.kind in STEPS for event in trace.events)


def _silent(traces: Sequence[Trace], rules: Mapping[str, Rule]) -> set[str]:
    """The rules that some event of some run refutes."""
    events = [event for trace in traces for event in trace.events]
    asked = ((name, rule.refuted_by) for name, rule in rules.items() if rule.refuted_by is not None)
    return {name for name, refutes in asked if any(map(refutes, events))}


def _assumed(breach: Breach, runs: Sequence[tuple[Trace, list[Breach]]]) -> tuple[tuple[str, bool], ...]:
    """The choices without which the mistake is not made, though its place is reached."""
    shown = [trace for trace, found in runs if any(one.key == breach.key for one in found)]
    others = [trace for trace, found in runs if all(one.key != breach.key for one in found)]
    reached = [trace.choices for trace in others if _comes_to(breach.site, trace.events)]
    return needed([trace.choices for trace in shown], reached, shown[0].opaque | shown[0].data)


def _comes_to(site: Site, events: Iterable[Event]) -> bool:
    """Whether a run comes to a place, the test of a window included."""
    return any(site in (*_places(event), event.gate.site if event.gate else None) for event in events)


def _contradicts(trace: Trace) -> bool:
    """Whether two flags that both speak of float16 disagree: nobody can know that such a run exists."""
    values = {value for key, value in trace.choices.items() if _PRECISION_FLAG.search(key)}
    return len(values) > 1


def _goes_back(trace: Trace) -> bool:
    """Whether a run back-propagates: one that does not is no training, where others do."""
    return any(event.kind is Kind.BACKWARD for event in trace.events)


def _asking(rules: Mapping[str, Rule]) -> Mapping[Kind, list[Rule]]:
    """The rules that ask about each kind of event."""
    found: dict[Kind, list[Rule]] = {kind: [] for kind in Kind}
    for rule in rules.values():
        for kind in {kind for condition in rule.when for kind in condition.kinds}:
            found[kind].append(rule)
    return found


def _breaches(trace: Trace, asking: Mapping[Kind, list[Rule]]) -> Iterable[Breach]:
    """Every breach of one run. A rule of a moment is asked before the event takes effect."""
    state = State(unknown_start=trace.open)
    state.expect(trace.events)
    events = attributed(trace.events)
    for at, event in enumerate(events):
        for moment in state.moments(event):
            for rule in asking[event.kind]:
                if rule.breaks(moment):
                    yield _breach(rule, Shown(moment, events, at))


def _breach(rule: Rule, shown: Shown) -> Breach:
    moment = shown.moment
    mild = rule.tier is not Tier.ERROR or (rule.milder is not None and rule.milder(moment))
    because = tuple((found.site, what) for kind, what in rule.because if (found := rule.earlier(moment, kind)))
    words = {**moment.event.detail, **(rule.words(moment) if rule.words else {})}
    site = rule.site(moment)
    there = (event.stack for event in (moment.event, *moment.last.values()) if event.site == site)
    return Breach(rule.id, site, mild, words, because, calls=next(there, moment.event.stack), shown=shown)


def _hidden(found: list[Breach], rules: Mapping[str, Rule]) -> list[Breach]:
    """The breaches of a run without those that another one of the same run makes superfluous."""
    present = {breach.rule for breach in found}
    hidden = {name for rule in present for name in rules[rule].hides}
    return [breach for breach in found if breach.rule not in hidden]


def _refuted(breach: Breach, trace: Trace, free: frozenset[str], runs: Sequence[tuple[Trace, list[Breach]]]) -> bool:
    """Whether a run that differs only in the choices that are free reaches the place without the breach."""
    if not free:
        return False
    known = {key: value for key, value in trace.choices.items() if key not in free}
    for other, found in runs:
        if other is trace or any(other.choices.get(key, value) != value for key, value in known.items()):
            continue
        reached = _visits(breach, other.events) and _counted(breach, other)
        if reached and all(one.key != breach.key for one in found):
            return True
    return False


def _visits(breach: Breach, events: Iterable[Event]) -> int:
    """How often a run comes to the place of a breach."""
    return sum(breach.site in _places(event) for event in events)


def _places(event: Event) -> tuple[Site, ...]:
    """What a finding that an event shows may point at, in the runs without it too."""
    return (event.site, *event.maker[-1:])


def _counted(breach: Breach, other: Trace) -> bool:
    """Whether the other run steps at all, and goes on for as long as it took the mistake to show: what an exception has
    ended earlier says nothing."""
    if other.cut and breach.shown is not None:
        shown = breach.shown
        return _steps(other) and _visits(breach, other.events) >= _visits(breach, shown.events[: shown.at + 1])
    return _steps(other)
