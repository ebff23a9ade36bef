"""What a fix leaves as it was: a program that is mended does all that it did, under every assignment of run constants.

The runs of the program before and after are laid side by side, each with the same choices. What a remedy does not name
happens as it did, in the same order, and as much of it is followed. What it moves still happens, in every run and
around every step that had it; what it takes away has to happen without it, too. What zeroes erases no gradients that
somebody has yet to step with. A remedy that changes the gate, or calls another library, may change how often things
happen, but nothing may stop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from amplint.catalogue.remedy import (
    Action,
    AddArgument,
    Delete,
    Detach,
    Divide,
    DropArgument,
    EndRegion,
    EnterBoth,
    Gather,
    Hoist,
    Insert,
    Join,
    Move,
    Rename,
    Respell,
    Undivide,
    Unwrap,
)
from amplint.protocol.events import STEPS, Event, Kind
from amplint.protocol.ranks import Sync

Run = Sequence[Event]
Pair = tuple[Run, Run]
"""A run of the program as it was, and that of the mended one which makes the same choices."""
Happened = tuple[Kind, str]
"""What happened, and to which optimizer or scheduler; of a scaler, which may be made anew for every epoch, the name."""

_OF_A_STEP = frozenset(
    {
        *(Kind.BACKWARD, Kind.UNSCALE, Kind.CLIP, Kind.NORM, Kind.DIVIDE, Kind.REDUCE, Kind.UPDATE, Kind.ZERO_GRAD),
        *(Kind.SCHEDULER_STEP, Kind.SCHEDULER_TOLD, Kind.AVERAGE, Kind.EPOCH_END, *STEPS),
    }
)
_ALWAYS_KEPT = frozenset({Kind.BACKWARD, Kind.EPOCH_END})
"""What no remedy adds or takes away."""
_WEIGHED = frozenset({"divisor", "whole", "times"})
"""Details that say enough of the weight of a loss."""

_NAMED: Mapping[type, Callable[[Any], Iterable[Kind]]] = {
    Insert: lambda action: (action.what,),
    Move: lambda action: (action.what, *action.along),
    **dict.fromkeys((Gather, Join), lambda action: (action.what,)),
    Delete: lambda action: (action.what,),
    Respell: lambda action: (Kind.UPDATE,) if action.what in STEPS else (),  # which stays a step
    **dict.fromkeys((Divide, Undivide, Detach, Hoist, EndRegion), lambda action: ()),
    **dict.fromkeys((AddArgument, DropArgument, EnterBoth, Rename), lambda action: ()),
}
"""What an action does to events: to which kinds. Of an action that is not told here it may be anything."""


def keeps(pairs: Iterable[Pair] | None, way: Sequence[Action]) -> bool:
    """Whether the runs after a fix, done in this way, keep all that happened before. None: they cannot be compared."""
    if pairs is None:
        return False
    change = _Change.of(way)
    return all(change.keeps(_Told.of(before), _Told.of(after)) for before, after in pairs)


@dataclass(frozen=True)
class _Told:
    """A run, of which each event of a step has a name that the other run gives it too.

    `lost`: how much of it was not followed. `ends`: it comes to the end of the program.
    """

    steps: tuple[tuple[Event, Happened], ...]
    lost: Counter[str]
    ends: bool

    @staticmethod
    def of(run: Run) -> _Told:
        names = _names(run)
        steps = tuple((one, _happened(one, names)) for one in run if one.kind in _OF_A_STEP)
        return _Told(steps, Counter(chain.from_iterable(map(_lost, run))), bool(run) and run[-1].kind is Kind.END)

    def said(self, kinds: frozenset[Kind]) -> list[Happened]:
        """What of some kinds happens, in order."""
        return [happened for event, happened in self.steps if event.kind in kinds]

    def closing(self) -> Iterator[Sync]:
        """What becomes of the gradients of the last backward before each step."""
        latest = Sync.UNKNOWN
        for event, _ in self.steps:
            if event.kind in STEPS:
                yield latest
            latest = event.sync if event.kind is Kind.BACKWARD else latest

    def erasures(self) -> Counter[str]:
        """How often gradients are erased that nobody has stepped with, for each optimizer that is zeroed."""
        found, waiting = Counter[str](), False
        for event, (kind, name) in self.steps:
            found.update([name] if waiting and kind is Kind.ZERO_GRAD else [])
            waiting = event.kind is Kind.BACKWARD or (waiting and event.kind not in STEPS)
        return found

    def gaps(self, ends: frozenset[Kind], name: str) -> list[frozenset[Happened]]:
        """What happens before, between and after the events of some kinds that an optimizer has."""
        found: list[set[Happened]] = [set()]
        for event, happened in self.steps:
            if event.kind in ends and happened[1] == name:
                found.append(set())
            else:
                found[-1].add(happened)
        return list(map(frozenset, found))


def _names(run: Run) -> dict[str, str]:
    """The keys of what a run makes, counted anew for each name: what is made besides has no part in it."""
    keys = {key for event in run for key in (event.optimizer, event.scheduler) if key and "#" in key}
    seen, names = Counter[str](), dict[str, str]()
    for key in sorted(keys, key=lambda key: int(key.rpartition("#")[2])):
        base = key.rpartition("#")[0]
        seen[base] += 1
        names[key] = f"{base}#{seen[base]}"
    return names


def _happened(event: Event, names: Mapping[str, str]) -> Happened:
    kind = Kind.STEP if event.kind in STEPS else event.kind
    key = event.scheduler or event.optimizer
    return kind, names.get(key, key) if key else (event.scaler or "").partition("#")[0] if kind is Kind.UPDATE else ""


def _lost(event: Event) -> Iterator[str]:
    """What is not known of an event."""
    if event.kind is Kind.OPAQUE:
        yield "code"
    if event.kind is Kind.BACKWARD:
        yield from (["weight"] if event.weight is None and not event.detail.keys() & _WEIGHED else [])
        yield from (["scale"] if event.scaled is None else [])


@dataclass(frozen=True)
class _Change:
    """What a remedy does to the events of a step: those of some kinds are there besides, elsewhere, or not any more.

    `once_per`: between what of the rest they have to be there. `anything`: it changes how often things happen;
    `shared`: and whether gradients are reduced over the ranks.
    """

    named: frozenset[Kind]
    moved: frozenset[Kind]
    removed: frozenset[Kind]
    once_per: frozenset[Kind]
    anything: bool
    shared: bool

    @staticmethod
    def of(way: Sequence[Action]) -> _Change:
        named = frozenset(kind for one in way for kind in _NAMED.get(type(one), lambda action: ())(one))
        named = named | STEPS if named & STEPS else named
        elsewhere = [one for one in way if isinstance(one, Move | Gather | Join)]
        moved = frozenset(kind for one in elsewhere for kind in _NAMED[type(one)](one))
        removed = frozenset(one.what for one in way if isinstance(one, Delete))
        beside = {kind for one in way if isinstance(one, Move) for kind in (*one.before, *one.after)}
        once_per = frozenset({Kind.EPOCH_END}) if Kind.EPOCH_END in beside else STEPS
        framework = any(isinstance(one, Delete) and one.only for one in way)
        anything = framework or any(type(one) not in _NAMED for one in way)
        return _Change(named, moved, removed, once_per, anything, any(isinstance(one, Unwrap) for one in way))

    def keeps(self, before: _Told, after: _Told) -> bool:
        if (before.ends and not after.ends) or after.lost - before.lost:
            return False
        if Kind.ZERO_GRAD in self.named and after.erasures() - before.erasures():
            return False
        untouched = _ALWAYS_KEPT if self.anything else _OF_A_STEP - self.named - self._along(before)
        if before.said(untouched) != after.said(untouched) or not self._syncs(before, after):
            return False
        had, has = ({happened for _, happened in told.steps} for told in (before, after))
        stepped = {name for kind, name in had if kind is Kind.STEP}
        due = had if stepped else {one for one in had if one[0] is not Kind.SCHEDULER_STEP}
        if due - has or any(kind in self.moved for kind, _ in has - had):
            return False
        names = stepped if self.once_per is STEPS else {""}
        return all(self._keeps_around(before, after, name) for name in names)

    def _along(self, before: _Told) -> frozenset[Kind]:
        """What else happens in the calls that are moved: a framework's clip unscales first."""
        calls = {event.site for event, _ in before.steps if event.kind in self.moved}
        return frozenset(event.kind for event, _ in before.steps if event.site in calls) - STEPS - _ALWAYS_KEPT

    def _syncs(self, before: _Told, after: _Told) -> bool:
        """Whether the backward passes reduce over the ranks as they did; where the gate is another one, the last ones
        before the steps."""
        if self.anything:
            known = set(before.closing())
            return self.shared or not known or set(after.closing()) <= known | {Sync.REDUCED}
        had, has = ([event.sync for event, _ in told.steps if event.kind is Kind.BACKWARD] for told in (before, after))
        return had == has

    def _keeps_around(self, before: _Told, after: _Told, name: str) -> bool:
        """Whether what happened between the steps of an optimizer still does, and what is taken away is not missed."""
        had, has = (told.gaps(self.once_per, name)[1:-1] for told in (before, after))
        if self.anything or len(had) != len(has):
            return not had or (bool(has) and frozenset.intersection(*had) <= frozenset.intersection(*has))
        if not all(one <= other for one, other in zip(had, has, strict=True)):
            return False
        erased = {Kind.ZERO_GRAD} if self.removed - {Kind.UPDATE} else set()  # an update asks for no gradients
        ends = frozenset({*STEPS, *erased}) - self.named
        gone = zip(before.gaps(ends, name), after.gaps(ends, name), strict=True) if self.removed else ()
        return all(kind not in self.removed for one, other in gone for kind, _ in one - other)
