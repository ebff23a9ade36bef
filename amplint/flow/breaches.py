"""Runs as the judge needs them, and what they break."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from amplint.catalogue.rule import Rule
from amplint.flow.attribution import attributed
from amplint.protocol.events import STEPS, Event, Kind, Site
from amplint.protocol.scene import Scene
from amplint.protocol.state import Moment, State


@dataclass(frozen=True)
class Trace:
    """A run as the judge needs it: its events and its choices.

    `opaque`: choices about what code did that could not be followed. `data`: choices that depend on the batches.
    `open`: what the gradients held before the first event is not known. `cut`: the program itself, or a limit, ended
    the run before its time. `idle`: the places of calls that did nothing, such as those of a scaler that is off.
    `defaults`: how those of its choices are by default of which that is written.
    """

    events: Sequence[Event]
    choices: Mapping[str, bool]
    opaque: frozenset[str] = frozenset()
    data: frozenset[str] = frozenset()
    open: bool = False
    cut: bool = False
    idle: frozenset[Site] = frozenset()
    defaults: Mapping[str, bool] = field(default_factory=dict)

    @property
    def settled(self) -> bool:
        """Whether the run is one of the program under its own defaults."""
        return all(self.choices.get(key) is value for key, value in self.defaults.items())

    @cached_property
    def visited(self) -> Counter[Site]:
        """How many events a finding at each place may stand for."""
        return Counter(site for event in self.events for site in frozenset(places(event)))

    @cached_property
    def steps(self) -> bool:
        """Whether an optimizer steps in the run."""
        return any(event.kind in STEPS for event in self.events)


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
    constants that have to be changed first, `raised` settings with a default that hides it; `calls` are the places of
    the calls that led there, from the outermost.
    `shown`: where in its trace it shows; `scene`: what happened around that, if a remedy needs it. `otherwise`: the
    choices of its run, each time with another one that is free taken the other way: such runs may refute it. `without`:
    the same with each of `assumed`: such runs say whether it is needed. `waits`: the choices of runs that have to be
    played before it is certain.
    `about`: calls that say what the user calls the optimizer of the moment, and its scaler. `entry`: from which of the
    program's beginnings it showed.
    """

    rule: str
    site: Site
    mild: bool
    words: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False)
    because: tuple[tuple[Site, str], ...] = field(default=(), compare=False)
    assumed: tuple[tuple[str, bool], ...] = field(default=(), compare=False)
    latent: tuple[str, ...] = ()
    raised: tuple[str, ...] = ()
    calls: tuple[Site, ...] = field(default=(), compare=False)
    shown: Shown | None = field(default=None, compare=False, repr=False)
    scene: Scene | None = field(default=None, compare=False, repr=False)
    otherwise: tuple[Mapping[str, bool], ...] = field(default=(), compare=False, repr=False)
    without: tuple[Mapping[str, bool], ...] = field(default=(), compare=False, repr=False)
    waits: tuple[Mapping[str, bool], ...] = field(default=(), compare=False, repr=False)
    about: tuple[tuple[Kind, Site], ...] = field(default=(), compare=False, repr=False)
    entry: int = field(default=0, compare=False)

    @property
    def key(self) -> tuple[str, Site]:
        """What makes two breaches the same finding."""
        return (self.rule, self.site)


def moments(trace: Trace) -> Iterable[tuple[Moment, Sequence[Event], int]]:
    """Every moment of a run, and the events of which it is one: before that takes effect."""
    state = State(unknown_start=trace.open)
    state.expect(trace.events)
    events = attributed(trace.events)
    for at, event in enumerate(events):
        for moment in state.moments(event):
            yield moment, events, at


def visits(breach: Breach, events: Iterable[Event]) -> int:
    """How often a run comes to the place of a breach."""
    return sum(breach.site in places(event) for event in events)


def places(event: Event) -> tuple[Site, ...]:
    """What a finding that an event shows may point at, in the runs without it too."""
    return (event.site, *event.maker[-1:])


def comes_to(site: Site, events: Iterable[Event]) -> bool:
    """Whether a run comes to a place, the test of a window included."""
    return any(site in (*places(event), event.gate.site if event.gate else None) for event in events)


def asking_of(rules: Mapping[str, Rule]) -> Mapping[Kind, list[Rule]]:
    """The rules that ask about each kind of event."""
    found: dict[Kind, list[Rule]] = {kind: [] for kind in Kind}
    for rule in rules.values():
        for kind in {kind for condition in rule.when for kind in condition.kinds}:
            found[kind].append(rule)
    return found
