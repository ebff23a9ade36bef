"""What was understood of a training loop, drawn from one of its runs.

A run is cut into windows (up to the first backward after a step), a window into micro-steps (each begins with the
backward that the first one began with, or with one that it has had already). One full window is drawn; what stands
outside the loop happens once per epoch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise, takewhile

from amplint.flow.loop_marks import marks
from amplint.protocol.events import STEPS, Event, Kind, Site
from amplint.protocol.ledger import Grads
from amplint.protocol.state import State

NONE, UNKNOWN = "none", "unknown"
_WORDS: Mapping[Kind, str] = {
    Kind.BACKWARD: "backward",
    Kind.DIVIDE: "divide gradients",
    Kind.REDUCE: "reduce gradients",
    Kind.UNSCALE: "unscale",
    Kind.CLIP: "clip",
    Kind.STEP: "step",
    Kind.SCALER_STEP: "step",
    Kind.UPDATE: "update",
    Kind.ZERO_GRAD: "zero_grad",
    Kind.SCHEDULER_STEP: "scheduler",
    Kind.SCHEDULER_TOLD: "scheduler",
    Kind.OPAQUE: "?",
}


_ENDING = STEPS | {Kind.UPDATE, Kind.SCHEDULER_STEP, Kind.SCHEDULER_TOLD}
"""What belongs to the step that it follows, wherever it stands."""


_CHANGES = "what this does to the gradients could not be followed"
_OF_GRADIENTS = frozenset({"clip", "zero_grad"})
"""What something that was not followed may do."""
_OF_STEPS = _OF_GRADIENTS | {"scheduler"}
"""What may stand where the step does, too."""


@dataclass(frozen=True)
class Understood:
    """One training loop. Each part is said in words; `none` if the loop has none, `unknown` if it was not followed."""

    site: Site
    function: str
    window: str = UNKNOWN
    divisor: str = UNKNOWN
    scaler: str = UNKNOWN
    clip: str = UNKNOWN
    step: str = UNKNOWN
    zero_grad: str = UNKNOWN
    scheduler: str = UNKNOWN
    drawn: str = ""
    not_followed: tuple[tuple[Site, str], ...] = ()
    marks: tuple[tuple[Site, str], ...] = ()


LOOP_PARTS = ("function", "window", "divisor", "scaler", "clip", "step", "zero_grad", "scheduler")
"""The parts that are words."""


@dataclass
class _Window:
    """One window: what came before its first backward, and its micro-steps."""

    lead: list[Event] = field(default_factory=list)
    micro_steps: list[list[Event]] = field(default_factory=list)

    @property
    def latest(self) -> list[Event]:
        """Where its next event belongs."""
        return self.micro_steps[-1] if self.micro_steps else self.lead

    @property
    def events(self) -> list[Event]:
        """All of them, in order."""
        return [*self.lead, *(event for part in self.micro_steps for event in part)]


def understood(
    runs: Sequence[Sequence[Event]], loops: Sequence[tuple[Site, str]], functions: Set[Site] = frozenset()
) -> tuple[list[Understood], frozenset[Site]]:
    """The training loops of some runs from one entry, and the loops whose backward is part of another one's step.

    `loops` are places, each with the function around it; those among `functions` are no loops themselves, and give way
    to one that they are called from.
    """
    places = [place for place, _ in loops]
    owners = [_owners(run, places, functions) for run in runs]
    reached = {
        place for run in runs for event in run if event.kind is Kind.BACKWARD for place in _around(event, places)
    }
    found = []
    for site, function in loops:
        mine = [[event for event in run if own.get(id(event)) == site] for run, own in zip(runs, owners, strict=True)]
        richest = max(range(len(runs)), key=lambda number: _richness(mine[number]), default=None)
        if richest is not None and any(event.kind is Kind.BACKWARD for event in mine[richest]):
            found.append(_of(site, function, mine[richest], _elsewhere(runs[richest], owners[richest], site), mine))
    return found, frozenset(reached - {loop.site for loop in found})


def _elsewhere(run: Sequence[Event], own: dict[int, Site], site: Site) -> list[Event]:
    """The events of a run without those that are part of another training loop."""
    training = {own.get(id(event)) for event in run if event.kind is Kind.BACKWARD} - {None, site}
    return [event for event in run if own.get(id(event)) not in training]


def _richness(events: Sequence[Event]) -> tuple[bool, bool, bool, int]:
    """How much of a training loop some events show: whether it goes back, whether it steps, whether it does so with all
    gradients that it makes, and how many different things happen."""
    kinds = {event.kind for event in events}
    different = len({(event.kind, event.site) for event in events})
    return Kind.BACKWARD in kinds, not STEPS.isdisjoint(kinds), not _throws_away(events), different


def _throws_away(events: Sequence[Event]) -> bool:
    """Whether gradients are zeroed that nothing has stepped with."""
    what = [event.kind for event in events if event.kind in STEPS | {Kind.BACKWARD, Kind.ZERO_GRAD}]
    return any(pair == (Kind.BACKWARD, Kind.ZERO_GRAD) for pair in pairwise(what))


def _owners(run: Sequence[Event], places: Sequence[Site], functions: Set[Site]) -> dict[int, Site]:
    """The loop that each event of a run is part of: the innermost one that back-propagates and steps, else the function
    that does, else the innermost place."""
    around = {id(event): _around(event, places) for event in run}
    back = {place for event in run if event.kind is Kind.BACKWARD for place in around[id(event)]}
    whole = back & {place for event in run if event.kind in STEPS for place in around[id(event)]}
    return {
        number: next((place for place in _loops_first(inner, functions) if place in whole), inner[0])
        for number, inner in around.items()
        if inner
    }


def _loops_first(places: Sequence[Site], functions: Set[Site]) -> list[Site]:
    return sorted(places, key=lambda place: place in functions)


def _around(event: Event, places: Sequence[Site]) -> list[Site]:
    """The loops around an event, or around a call that led to it, the innermost first."""
    called = reversed(event.step_of_program)
    every = [sorted((p for p in places if _holds(p, at)), key=lambda p: p.end_row - p.row) for at in called]
    return list(dict.fromkeys(place for around in every for place in around))


def _holds(loop: Site, place: Site) -> bool:
    return loop.path == place.path and loop.row <= place.row <= loop.end_row


def _of(
    site: Site, function: str, events: list[Event], run: Sequence[Event], all_runs: Sequence[Sequence[Event]]
) -> Understood:
    window = _typical(_windows(events, site.path))
    lost = _not_followed([event for found in all_runs for event in found], len(window.micro_steps), site.path)
    stepless = not any(event.kind in STEPS for event in run)
    lost += ((site, "nothing that was read steps with these gradients"),) if stepless else ()
    outside = Counter(_WORDS.get(event.kind) for event in run) - Counter(_WORDS.get(event.kind) for event in events)
    inside = {_WORDS.get(event.kind) for event in events}
    cadence = {word: _cadence(word, window, outside[word] > 0, word in inside) for word in _WORDS.values()}
    elsewhere = _OF_GRADIENTS if any(why == _CHANGES for _, why in lost) else frozenset[str]()
    elsewhere |= _OF_STEPS if stepless else frozenset()
    cadence |= {word: UNKNOWN for word in elsewhere if cadence[word] == NONE}
    if cadence["clip"] not in (NONE, UNKNOWN) and _clips_scaled(run, events):
        cadence["clip"] += ", on gradients that carry the loss scale"
    return Understood(
        site,
        function,
        _length(window),
        _divisor(events, len(window.micro_steps)),
        _scaler(events),
        cadence["clip"],
        cadence["step"],
        cadence["zero_grad"],
        cadence["scheduler"],
        _drawn(window),
        lost,
        marks(window.events, site.path, _length(window)),
    )


def _windows(events: Sequence[Event], path: str) -> list[_Window]:
    """The windows of some events of a loop in a file."""
    windows, stepped, since = [_Window()], False, set[Site]()
    back = [event.site for event in events if event.kind is Kind.BACKWARD]
    alone = {site for site, after in pairwise(back) if site == after}  # each is all of a micro-step
    several = len({event.optimizer for event in events if event.kind in STEPS}) > 1 and not alone
    for event in events:
        if event.kind is Kind.BACKWARD:
            if stepped and (not several or event.site == back[0] or event.site in since):
                begins = _at_home(event, path)
                begins = back[0] if event.site in alone and event.site == begins else begins
                windows.append(_Window(_before(windows[-1].latest, begins, path)))
                stepped = False
            if event.site == back[0] or event.site in since or not windows[-1].micro_steps:
                windows[-1].micro_steps.append([])
                since = set()
            since.add(event.site)
        windows[-1].latest.append(event)
        stepped = stepped or event.kind in STEPS
    return [window for window in windows if window.micro_steps]


def _before(ending: list[Event], backward: Site, path: str) -> list[Event]:
    """Takes from the end of a window what stands above the next backward: it belongs to the window that begins."""
    above = takewhile(lambda event: event.kind not in _ENDING and _at_home(event, path) < backward, reversed(ending))
    count = len(list(above))
    taken = ending[len(ending) - count :]
    del ending[len(ending) - count :]
    return taken


def _typical(windows: Sequence[_Window]) -> _Window:
    """A window of the commonest length: neither an early first one nor a tail, and if it can be not the very first."""
    lengths = Counter(len(window.micro_steps) for window in windows)
    common = max(lengths, key=lambda length: (lengths[length], length))
    return [window for window in windows if len(window.micro_steps) == common][:2][-1]


def _cadence(word: str, window: _Window, outside: bool, inside: bool) -> str:
    """How often something happens; `outside`: it does outside of the loop, `inside`: in some window of it."""
    times = sum(_WORDS.get(event.kind) == word for event in window.events)
    if not times:
        return "at times" if inside else "once per epoch" if outside else NONE
    if len(window.micro_steps) < 2:
        return "every step"
    with_it = sum(any(_WORDS.get(event.kind) == word for event in part) for part in window.micro_steps)
    return "every micro-step" if with_it == len(window.micro_steps) else "once per window"


def _length(window: _Window) -> str:
    steps = [event for event in window.events if event.kind in STEPS]
    if not steps:
        return UNKNOWN
    gate = next((event.gate for event in steps if event.gate is not None), None)
    if len(window.micro_steps) < 2:
        return "1"
    return gate.length if gate is not None and gate.length else UNKNOWN


def _divisor(events: Iterable[Event], micro_steps: int) -> str:
    """By what the losses are divided, those that are known; else whether it is known that nothing divides them.

    A loss that is a window by itself has nothing to be divided by, whoever made it.
    """
    found = [event for event in events if event.kind is Kind.BACKWARD]
    named = {event.detail["divisor"] for event in found if "divisor" in event.detail}
    times = [factor for event in found if "times" in event.detail for factor in event.factors]
    named |= {factor.removeprefix("1 / ") for factor in times if factor.startswith("1 / ")}
    if named:
        return ", ".join(sorted(named))
    if any(_of_unknown_weight(event) for event in found) and micro_steps > 1:
        return UNKNOWN
    odd = {str(1 / event.weight) for event in found if event.weight is not None and 0 < event.weight < 1}
    return ", ".join(sorted(odd)) or NONE


def _scaler(events: Iterable[Event]) -> str:
    found = [event for event in events if event.kind is Kind.BACKWARD]
    names = {event.scaler.partition("#")[0] for event in found if event.scaler is not None}
    if names:
        return ", ".join(sorted(names))
    return UNKNOWN if any(event.scaled is None for event in found) else NONE


def _clips_scaled(run: Sequence[Event], mine: Sequence[Event]) -> bool:
    state, here = State(), {id(event) for event in mine}
    state.expect(run)
    stepped = {event.optimizer for event in run if event.kind in STEPS}
    scaled = False
    for event in run:
        for moment in state.moments(event):
            if event.kind is Kind.CLIP and id(event) in here and (moment.name in stepped or None in stepped):
                scaled = scaled or moment.ledger.grads is Grads.SCALED
    return scaled


def _drawn(window: _Window) -> str:
    """A window on one line: what every micro-step does in brackets, then what its last one does beyond that."""
    lead = _told(window.lead)
    parts = [_told(part) for part in window.micro_steps]
    each = parts[0]
    if len(parts) > 1 and all(part == each for part in parts[:-1]) and parts[-1][: len(each)] == each:
        rest = parts[-1][len(each) :]
        return " ".join([*lead, "(" + " ".join(each) + ") x " + _length(window), *(["->", *rest] if rest else [])])
    return " | ".join(" ".join([*lead, *part] if part is parts[0] else part) for part in parts)


def _told(events: Iterable[Event]) -> list[str]:
    """The words of events; a scheduler that steps several times at one place, or steps its parts, is told once."""
    found: list[Event] = []
    for event in (event for event in events if event.kind in _WORDS):
        again = found and event.kind is Kind.SCHEDULER_STEP is found[-1].kind and event.site == found[-1].site
        found += [] if again else [event]
    return [_WORDS[event.kind] for event in found]


def _not_followed(events: Iterable[Event], micro_steps: int, path: str) -> tuple[tuple[Site, str], ...]:
    """The places where something remains unknown; where a window is one micro-step, the weight of its loss need not be
    known, and neither what a framework leaves to another one, which has a configuration of its own."""
    found: dict[tuple[Site, str], None] = {}
    for event in events:
        here = _at_home(event, path)
        if event.kind is Kind.OPAQUE and "left to" not in event.detail:
            found[here, _CHANGES] = None
        elif event.kind is Kind.BACKWARD and micro_steps > 1 and _of_unknown_weight(event):
            found[here, "the weight of this loss could not be followed"] = None
    return tuple(sorted(found))


def _of_unknown_weight(event: Event) -> bool:
    """Whether the program may divide a loss, or not; what a model returns has nothing to do with the window, and what
    it is multiplied by is known."""
    return event.weight is None and not event.detail.keys() & {"divisor", "whole", "times"}


def _at_home(event: Event, path: str) -> Site:
    """Where an event stands in a file: of one in another file, the call that led to it."""
    return next((site for site in reversed(event.step_of_program) if site.path == path), event.site)
