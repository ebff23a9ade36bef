"""Feeds traces to the protocol and asks the rules of every moment.

A finding has to hold whatever the code that could not be followed does: if it is absent from a run that makes the
same choices of run constants, and the place that it speaks of is reached there, it is dropped. What holds under some
assignment of run constants stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from amplint.catalogue.rule import Rule, Tier
from amplint.catalogue.through import words_of
from amplint.flow.breaches import Breach, Shown, Trace, asking_of, moments
from amplint.flow.certain import waits_for
from amplint.flow.conditions import needed
from amplint.flow.spared import Spared, goes_on, trains
from amplint.protocol.events import Kind, Site
from amplint.protocol.scene import scene_of

MOST_FREE = 8
"""Choices of one run that are doubted."""

_CLIPS = frozenset({"clipping"})
_PRECISION_FLAG = re.compile(r"(?i)\bamp|amp\b|_amp|fp16|half|scaler|mixed|(?<!b)float16")


def judge(
    traces: Sequence[Trace], rules: Mapping[str, Rule], seen: dict[int, list[Breach]] | None = None
) -> list[Breach]:
    """The breaches that stand, each once, the most serious form of it; sorted by place.

    `seen`: what each trace, by identity, has shown to the same rules before; it learns.
    """
    seen = {} if seen is None else seen
    goes_back = any(_goes_back(trace) for trace in traces)
    meant = [trace for trace in traces if not _contradicts(trace) and _goes_back(trace) is goes_back]
    asking = asking_of(rules)
    beside = _contrasts(meant, rules)
    for trace in meant:
        if id(trace) not in seen:
            seen[id(trace)] = list(_breaches(trace, asking))
    every = [(trace, [*seen[id(trace)], *beside[at]]) for at, trace in enumerate(meant)]
    unused = _CLIPS if any(trace.steps for trace in meant) else _CLIPS | {"scaler"}
    runs = [
        (trace, [one for one in _hidden(found, rules) if trace.steps or rules[one.rule].family not in unused])
        for trace, found in every
    ]
    runs += _idle(traces, rules, seen) if goes_back else []
    silent = _silent(traces, rules)
    standing = _standing(runs, rules, silent)
    best = {one.key: one for one in _unexplained(list(standing.values()), rules)}
    spared = Spared(every, {name: rule for name, rule in rules.items() if any(key[0] == name for key in best)})
    shown = {key: [trace for trace, found in runs if _shows(trace, found, key, silent)] for key in best}
    every_run = [trace for trace, _ in runs]
    explained = (_explained(_set(one, rules), shown[key], every_run, spared.by(one)) for key, one in best.items())
    return sorted(explained, key=lambda breach: (breach.site, breach.rule))


def _standing(
    runs: Sequence[tuple[Trace, list[Breach]]], rules: Mapping[str, Rule], silent: set[str]
) -> dict[tuple[str, Site], Breach]:
    """The breaches that no run refutes, each in its most serious form."""
    waiting = {rule: waits_for(rules[rule], [trace for trace, _ in runs]) for rule in silent}
    asked = [
        (trace, told, trace.opaque | trace.data if rules[breach.rule].needs_every_path else trace.opaque)
        for at, (trace, found) in enumerate(runs)
        for breach in found
        if (told := _in_spite(breach, waiting, at)) is not None
    ]
    refuted = [_refuting(breach, trace, free, runs) for trace, breach, free in asked]
    likewise = {(breach.key, why) for (_, breach, _), why in zip(asked, refuted, strict=True) if why is not None}
    best: dict[tuple[str, Site], Breach] = {}
    for (trace, breach, free), why in zip(asked, refuted, strict=True):
        alike = (one for key, one in likewise if key == breach.key)
        if why is not None or any(_would_be_refuted(trace, one, runs) for one in alike):
            continue
        known = best.get(breach.key)
        if known is None or (known.mild and not breach.mild):
            best[breach.key] = replace(breach, otherwise=_otherwise(trace, free))
    return best


def _in_spite(
    breach: Breach, waiting: Mapping[str, Sequence[Sequence[Mapping[str, bool]] | None]], at: int
) -> Breach | None:
    """A breach with what it waits for if its rule is silent but for the program's own defaults; None if it is no such
    run."""
    if breach.rule not in waiting:
        return breach
    waits = waiting[breach.rule][at]
    return replace(breach, waits=tuple(waits)) if waits is not None else None


def _otherwise(trace: Trace, free: frozenset[str]) -> tuple[Mapping[str, bool], ...]:
    """The choices of a run, each time with another one of the last that are free taken the other way."""
    keys = [key for key in trace.choices if key in free]
    return tuple({**trace.choices, key: not trace.choices[key]} for key in keys[-MOST_FREE:])


def _set(breach: Breach, rules: Mapping[str, Rule]) -> Breach:
    """A breach with what happened around it, where its rule has a remedy."""
    shown = breach.shown
    if shown is None:
        return breach  # it shows beside another run, at no moment of its own
    breach = replace(breach, about=tuple(_about(shown)))
    if rules[breach.rule].remedy is None:
        return replace(breach, shown=None)
    scene = scene_of(shown.moment, shown.events, shown.at, breach.words.items())
    return replace(breach, shown=None, scene=scene)


_NAMING = (Kind.STEP, Kind.SCALER_STEP, Kind.UNSCALE, Kind.ZERO_GRAD, Kind.UPDATE, Kind.BACKWARD)


def _about(shown: Shown) -> Iterable[tuple[Kind, Site]]:
    """The first call of each kind that says what the user calls the optimizer of a moment, its scaler, and the object
    of a framework that back-propagates."""
    for kind in _NAMING:
        found = [one for one in shown.events if one.kind is kind and one.optimizer in (None, shown.moment.name)]
        if kind is Kind.BACKWARD:
            found = [one for one in found if "through" in one.detail]
        if found:
            yield kind, found[0].site


def _silent(traces: Sequence[Trace], rules: Mapping[str, Rule]) -> set[str]:
    """The rules that some event of some run refutes."""
    events = [event for trace in traces for event in trace.events]
    asked = ((name, rule.refuted_by) for name, rule in rules.items() if rule.refuted_by is not None)
    return {name for name, refutes in asked if any(map(refutes, events))}


def _shows(trace: Trace, found: Sequence[Breach], key: tuple[str, Site], silent: AbstractSet[str]) -> bool:
    """Whether a run shows a breach: under the program's own defaults, where it is told of these alone."""
    return any(one.key == key for one in found) and (key[0] not in silent or trace.settled)


def _explained(breach: Breach, shown: Sequence[Trace], every: Sequence[Trace], spared: Sequence[Trace]) -> Breach:
    """A breach with the choices that it needs. A setting that is none of those that the code asks for may be none at
    all, and a machine without bfloat16 is older than 2020: that is no more than a warning."""
    assumed = _assumed(shown, spared)
    asked = (*assumed, *_never_off(shown[0], every))
    without = tuple({**shown[0].choices, key: not value} for key, value in asked)
    others = Counter(key.partition(" == ")[0] for key, value in assumed if " == " in key and not value)
    older = any(_OLDER in key and not value for key, value in assumed)
    mild = breach.mild or older or any(count > 1 for count in others.values())
    return replace(breach, assumed=assumed, without=without, mild=mild)


_OLDER = "is_bf16_supported"


def _never_off(shown: Trace, every: Sequence[Trace]) -> Iterable[tuple[str, bool]]:
    """The choices of a run that speak of float16, and that all runs have made alike: nobody has seen them otherwise."""
    flags = [(key, value) for key, value in shown.choices.items() if _speaks_of_float16(key)]
    return [(key, value) for key, value in flags if all(run.choices.get(key, value) is value for run in every)][:2]


def _assumed(shown: Sequence[Trace], spared: Sequence[Trace]) -> tuple[tuple[str, bool], ...]:
    """The choices without which the mistake is not made, though its place is reached."""
    doubtful = shown[0].opaque | shown[0].data
    return needed([trace.choices for trace in shown], [trace.choices for trace in spared], doubtful)


def _contradicts(trace: Trace) -> bool:
    """Whether two flags that both speak of float16 disagree: nobody can know that such a run exists."""
    written = trace.defaults if trace.settled else {}
    values = {value for key, value in trace.choices.items() if key not in written and _speaks_of_float16(key)}
    return len(values) > 1


def _speaks_of_float16(key: str) -> bool:
    """Whether a choice is one for float16: a flag, or a setting that equals the name of such a precision."""
    _, equal, name = key.rpartition(" == ")
    quoted = bool(equal) and len(name) > 1 and name[0] == name[-1] == "'"
    return bool(_PRECISION_FLAG.search(name[1:-1] if quoted else key)) and not (quoted and "bf" in name)


def _goes_back(trace: Trace) -> bool:
    """Whether a run back-propagates: one that does not is no training, where others do."""
    return any(event.kind is Kind.BACKWARD for event in trace.events)


def _idle(
    traces: Sequence[Trace], rules: Mapping[str, Rule], seen: dict[int, list[Breach]]
) -> list[tuple[Trace, list[Breach]]]:
    """The runs whose data let them train nothing, as every batch may be one that is skipped, and what the rules that
    speak of such batches too have found in them."""
    told = {name: rule for name, rule in rules.items() if rule.of_skipped}
    skipping = [trace for trace in traces if trace.data and not _goes_back(trace) and not _contradicts(trace)]
    for trace in skipping if told else ():
        if id(trace) not in seen:
            seen[id(trace)] = list(_breaches(trace, asking_of(told)))
    return [(trace, [one for one in seen[id(trace)] if one.rule in told]) for trace in skipping if told]


def _breaches(trace: Trace, asking: Mapping[Kind, list[Rule]]) -> Iterable[Breach]:
    """Every breach of one run."""
    for moment, events, at in moments(trace):
        for rule in asking[moment.event.kind]:
            if rule.breaks(moment):
                yield _breach(rule, Shown(moment, events, at))


def _contrasts(traces: Sequence[Trace], rules: Mapping[str, Rule]) -> list[list[Breach]]:
    """Of each run, the breaches that show beside the others."""
    found: list[list[Breach]] = [[] for _ in traces]
    for rule in rules.values():
        for one in rule.compare(traces) if rule.compare is not None else ():
            mild = one.mild or rule.tier is not Tier.ERROR
            found[one.run].append(Breach(rule.id, one.event.site, mild, one.words, calls=one.event.stack))
    return found


def _breach(rule: Rule, shown: Shown) -> Breach:
    moment = shown.moment
    mild = rule.tier is not Tier.ERROR or (rule.milder is not None and rule.milder(moment))
    because = tuple((found.site, what) for kind, what in rule.because if (found := rule.earlier(moment, kind)))
    words = words_of(rule, moment)
    site = rule.site(moment)
    there = (event.stack for event in (moment.event, *moment.last.values()) if event.site == site)
    calls = next(there, moment.event.stack)
    return Breach(rule.id, site, mild, words, because, calls=calls, shown=shown)


def _hidden(found: list[Breach], rules: Mapping[str, Rule]) -> list[Breach]:
    """The breaches of a run without those that another one of the same run makes superfluous."""
    present = {breach.rule for breach in found}
    hidden = {name for rule in present for name in rules[rule].hides}
    return [breach for breach in found if breach.rule not in hidden]


def _unexplained(found: Sequence[Breach], rules: Mapping[str, Rule]) -> list[Breach]:
    """Breaches without those of other settings that another one explains at the same call."""
    explained = {(name, breach.site) for breach in found for name in rules[breach.rule].explains}
    return [breach for breach in found if breach.key not in explained]


def _refuting(
    breach: Breach, trace: Trace, free: frozenset[str], runs: Sequence[tuple[Trace, list[Breach]]]
) -> frozenset[tuple[str, bool]] | None:
    """Which of the choices that are free another run takes otherwise, which differs in them only and reaches the place
    without the breach; None if there is no such run."""
    if not free:
        return None
    known = {key: value for key, value in trace.choices.items() if key not in free}
    for other, found in runs:
        if other is trace or not other.visited[breach.site] or any(one.key == breach.key for one in found):
            continue
        if all(other.choices.get(key, value) == value for key, value in known.items()) and _counted(breach, other):
            taken = ((key, trace.choices[key]) for key in free & trace.choices.keys())
            return frozenset((key, value) for key, value in taken if other.choices.get(key, value) != value)
    return None


def _would_be_refuted(
    trace: Trace, taken: frozenset[tuple[str, bool]], runs: Sequence[tuple[Trace, list[Breach]]]
) -> bool:
    """Whether a run makes the free choices for which another one is refuted, and nobody has played it otherwise."""
    if any(trace.choices.get(key) is not value for key, value in taken):
        return False
    wanted = {**trace.choices, **{key: not value for key, value in taken}}
    return all(any(other.choices.get(key, value) != value for key, value in wanted.items()) for other, _ in runs)


def _counted(breach: Breach, other: Trace) -> bool:
    """Whether the other run steps at all, and goes on for as long as it took the mistake to show: what an exception has
    ended earlier says nothing."""
    return other.steps and trains(breach, other) and goes_on(breach, other)
