"""Which runs show a mistake for certain, though other settings of the program are without it.

A program that knows the remedy for a mistake decides itself when it takes it: which settings it is run with, nobody
knows. Its own defaults are known: the mistake is one if it is made in a run under these, and no other such run takes
the remedy, whatever is answered to what has no default.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from amplint.catalogue.rule import Rule
from amplint.flow.breaches import Trace

Choices = Mapping[str, bool]

_CUDA = re.compile(r"(?i)cuda|gpu")
_DENIED = re.compile(r"(?i)(?:no|not|disable|without)[-_ ]?(?:cuda|gpu)|n_?gpus? == 0")

MOST_OPEN = 8
"""Conditions without a default that are answered otherwise, each by itself."""


def waits_for(rule: Rule, traces: Sequence[Trace]) -> list[list[Choices] | None]:
    """Of each run, the choices of runs under the program's defaults that have to be played before it shows a mistake
    for certain; None where it does not."""
    remedied = [_remedied(rule, trace) for trace in traces]
    with_remedy = [trace for trace, has in zip(traces, remedied, strict=True) if has]
    if not with_remedy or any(trace.settled for trace in with_remedy):
        return [None] * len(traces)
    by_default = [trace for trace in traces if trace.settled]
    asked = [{**trace.choices, **trace.defaults} for trace in with_remedy]
    return [
        [one for one in (*asked, *_flipped(trace)) if not _is_played(one, by_default)]
        if trace.settled and _on_its_device(trace) and all(_apart_by_default(trace, other) for other in with_remedy)
        else None
        for trace in traces
    ]


def _on_its_device(trace: Trace) -> bool:
    """Whether nothing in a run says that it is one without CUDA, where what is for CUDA alone does nothing."""
    asked = ((key, value) for key, value in trace.choices.items() if _CUDA.search(key))
    return all(value is (_DENIED.search(key) is None) for key, value in asked)


def _apart_by_default(trace: Trace, other: Trace) -> bool:
    """Whether another run is told from one by what has a default."""
    return any(other.choices.get(key, value) is not value for key, value in trace.defaults.items())


def _remedied(rule: Rule, trace: Trace) -> bool:
    return rule.remedied is not None and any(map(rule.remedied, trace.events))


def _flipped(trace: Trace) -> Iterable[Choices]:
    """The choices of a run, each time with another one of the last that have no default taken the other way."""
    keys = [key for key in trace.choices if key not in {*trace.defaults, *trace.data}]
    return ({**trace.choices, key: not trace.choices[key]} for key in keys[-MOST_OPEN:])


def _is_played(wanted: Choices, traces: Iterable[Trace]) -> bool:
    """Whether one of the runs answers all that it is asked as is wanted."""
    return any(all(wanted.get(key, value) is value for key, value in trace.choices.items()) for trace in traces)
