"""Whose gradients a backward fills.

A backward that names no optimizer belongs to those that step next, before any other backward: that is how code with
several optimizers is written. It is decided per place of the program, so that a micro-step on which nothing steps
counts for the optimizer that the same place feeds at the boundary. An optimizer that is made anew (for every fold of
a cross-validation, say) is fed from its making to its last step. Unscaling, clipping and dividing that name no
optimizer go with the backward before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from amplint.protocol.events import STEPS, Event, Kind, Site

Place = tuple[Site, ...]
_FOLLOW = frozenset({Kind.CLIP, Kind.DIVIDE, Kind.UNSCALE, Kind.LOSS_DIVIDED})


def attributed(events: Sequence[Event]) -> list[Event]:
    """The events with every backward given to the optimizers that it feeds; one event per optimizer."""
    names = list(dict.fromkeys(event.optimizer for event in events if event.kind in STEPS and event.optimizer))
    if len(names) == 1:
        return [_given(event, names[0]) for event in events]
    feeds, lives = _feeds(events), _lives(events)
    result: list[Event] = []
    current: tuple[str, ...] = ()
    for index, event in enumerate(events):
        if event.kind is Kind.BACKWARD:
            current = _alive(feeds.get(event.step_of_program, ()), index, lives)
        if event.optimizer is None and (event.kind is Kind.BACKWARD or event.kind in _FOLLOW):
            result += [replace(event, optimizer=name) for name in current]
        else:
            result.append(event)
    return result


def _lives(events: Sequence[Event]) -> dict[str, tuple[int, int]]:
    """Per optimizer: when it is first heard of, and when it last steps."""
    lives: dict[str, tuple[int, int]] = {}
    for index, event in enumerate(events):
        if event.optimizer is not None:
            first, last = lives.get(event.optimizer, (index, index))
            lives[event.optimizer] = (first, index if event.kind in STEPS else last)
    return lives


def _alive(names: tuple[str, ...], index: int, lives: dict[str, tuple[int, int]]) -> tuple[str, ...]:
    """Those of several optimizers that a backward at this time can feed; all of them when there is no choice."""
    if len(names) < 2:
        return names
    now = tuple(name for name in names if lives[name][0] <= index <= lives[name][1])
    return now or tuple(name for name in names if lives[name][0] <= index) or names


def _given(event: Event, name: str) -> Event:
    if event.optimizer is None and (event.kind is Kind.BACKWARD or event.kind in _FOLLOW):
        return replace(event, optimizer=name)
    return event


def _feeds(events: Sequence[Event]) -> dict[Place, tuple[str, ...]]:
    """Per place of a backward: the optimizers that step right after it, or after the backward that follows it."""
    direct: dict[Place, tuple[str, ...]] = {}
    following: dict[Place, Place] = {}
    waiting: Place | None = None
    for event in events:
        if event.kind is Kind.BACKWARD:
            place = event.step_of_program
            if waiting is not None and waiting != place:
                following.setdefault(waiting, place)
            waiting = place
        elif event.kind in STEPS and waiting is not None and event.optimizer is not None:
            known = direct.get(waiting, ())
            direct[waiting] = known if event.optimizer in known else (*known, event.optimizer)
    return {place: _reached(place, direct, following) for place in {*direct, *following}}


def _reached(place: Place, direct: dict[Place, tuple[str, ...]], following: dict[Place, Place]) -> tuple[str, ...]:
    seen: set[Place] = set()
    while place not in direct and place in following and place not in seen:
        seen.add(place)
        place = following[place]
    return direct.get(place, ())
