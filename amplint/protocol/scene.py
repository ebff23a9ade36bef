"""What happened around a moment: enough to tell where something would have to be written to put it right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from amplint.protocol.events import STEPS, Event, Kind, Site
from amplint.protocol.state import Moment

Words = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Scene:
    """The events that concern the same optimizer, scaler or scheduler, the nearest to the moment first.

    Each place of the program is told once for each kind of event. A fact of the text has none. `words`: what the
    message quotes.
    """

    events: tuple[Event, ...] = ()
    words: Words = field(default=())

    def nearest(self, kind: Kind, path: str, near: Site | None = None) -> Event | None:
        """The nearest event of a kind in a file; the one at a given place, if there is one."""
        found = [event for event in self.events if event.kind is kind and event.site.path == path]
        return next((event for event in found if event.site == near), found[0] if found else None)


def scene_of(moment: Moment, trace: Sequence[Event], at: int, words: Iterable[tuple[str, str]]) -> Scene:
    """What happened around the event at an index of a trace."""
    return Scene(tuple(around(trace, at, *_about(moment))), words=tuple(words))


def around(trace: Sequence[Event], at: int, optimizer: str | None, scheduler: str | None) -> list[Event]:
    """What happens around an index of a trace and concerns an optimizer and a scheduler, the nearest first; updates of
    the scaler that follow steps of other optimizers alone are the last."""
    found: dict[tuple[Kind, tuple[Site, ...]], Event] = {}
    for event in _outwards(trace, at):
        if not _of_another(event, (optimizer, scheduler)):
            found.setdefault((event.kind, event.step_of_program), event)
    others = _updates_for_others(trace, optimizer)
    return [event for key, event in sorted(found.items(), key=lambda pair: pair[0] in others)]


def _updates_for_others(trace: Sequence[Event], optimizer: str | None) -> set[tuple[Kind, tuple[Site, ...]]]:
    """The updates of a scaler that follow steps of other optimizers alone."""
    stepped: dict[str | None, set[str | None]] = {}
    mine: set[tuple[Kind, tuple[Site, ...]]] = set()
    others: set[tuple[Kind, tuple[Site, ...]]] = set()
    for event in trace:
        if event.kind in STEPS:
            stepped.setdefault(event.scaler, set()).add(event.optimizer)
        elif event.kind is Kind.UPDATE:
            names = stepped.pop(event.scaler, set())
            (others if names and optimizer not in names else mine).add((event.kind, event.step_of_program))
    return others - mine if optimizer is not None else set()


def _about(moment: Moment) -> tuple[str | None, str | None]:
    """The optimizer and the scheduler of a moment."""
    scheduler = moment.name if moment.of_scheduler else None
    optimizer = moment.event.optimizer if moment.of_scheduler else moment.name or moment.event.optimizer
    return optimizer, scheduler


def _of_another(event: Event, mine: tuple[str | None, str | None]) -> bool:
    """Whether an event concerns another optimizer or scheduler."""
    optimizer, scheduler = mine
    if scheduler is not None and event.scheduler not in (None, scheduler):
        return True
    return optimizer is not None and event.optimizer not in (None, optimizer)


def _outwards(trace: Sequence[Event], at: int) -> Iterator[Event]:
    """The events of a trace, the nearest to an index first; of two as near, the later."""
    for later, earlier in zip_longest(trace[at:], reversed(trace[:at])):
        yield from (event for event in (later, earlier) if event is not None)
