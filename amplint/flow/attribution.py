"""Whose gradients a backward fills.

A backward that names no optimizer belongs to those that step next, before any other backward: that is how code with
several optimizers is written. It is decided per place of the program, so that a micro-step on which nothing steps
counts for the optimizer that the same place feeds at the boundary. Of optimizers that are made anew (for every fold of
a cross-validation, say) the one that steps next is fed; one that is not made yet has no gradients. Unscaling, clipping
and dividing that name no optimizer go with the backward before them; a clip with those of its optimizers that have not
stepped yet, if there are any, for it may be theirs. A clip that happens again before the next backward
goes with one after the other, nobody knows with which; one of a model that the last backward has not gone through, and
the next one does, with that next one. A clip of other parameters than those that it feeds misses them; where nobody has
seen what the optimizers that it feeds hold, they may be theirs too. Of several losses before several
optimizers, those that are scaled are for the optimizers that the scaler steps, the others for those that step alone.
Where steps are seen and no backward, nobody knows what it is that is clipped. An optimizer that steps in a way that is
not followed is fed like any other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from amplint.flow.crossing import crossed, sole_scalers, stepped_by
from amplint.protocol.events import BESIDE_OTHERS, OVERTAKEN, STEPS, TOO_EARLY, Event, Kind, Site

Place = tuple[Site, ...]
Reach = frozenset[tuple[str, str]]
_OF_GRADIENTS = frozenset({Kind.CLIP, Kind.NORM})
_FOLLOW = frozenset({Kind.CLIP, Kind.NORM, Kind.DIVIDE, Kind.UNSCALE, Kind.LOSS_DIVIDED})


def attributed(events: Sequence[Event]) -> list[Event]:
    """The events with every backward given to the optimizers that it feeds; one event per optimizer."""
    events = _fed_besides(_one_of_two_names(events))
    names = list(dict.fromkeys(event.optimizer for event in events if _is_step(event) and event.optimizer))
    if names:
        filled = any(event.kind is Kind.BACKWARD for event in events)
        events = [event for event in events if not _idle(event, names) and (filled or event.kind not in _OF_GRADIENTS)]
    else:  # nobody steps: they belong to the one optimizer that is spoken of
        names = list(dict.fromkeys(event.optimizer for event in events if event.optimizer))
        if len(names) != 1:
            return list(events)
    if len(names) == 1:
        return _overtaken([_given(event, names[0]) for event in events])
    return _overtaken(crossed(_among_several(events)))


def _overtaken(events: Sequence[Event]) -> list[Event]:
    """The events, each clip marked after which a backward makes new gradients, if the last backward before their step
    is clipped."""
    found: list[Event] = []
    made: dict[str | None, bool] = {}  # by optimizer whose window ends in a clip: whether a backward stands before it
    unclipped: set[str | None] = set()
    for event in reversed(events):
        name = event.optimizer
        if event.kind in STEPS:
            made.pop(name, None)
            unclipped.discard(name)
        elif event.kind is Kind.BACKWARD and name in made:
            made[name] = True
        elif event.kind is Kind.BACKWARD:
            unclipped.add(name)
        elif event.kind is Kind.CLIP and name not in unclipped:
            event = replace(event, detail={**event.detail, OVERTAKEN: "yes"}) if made.get(name) else event
            made.setdefault(name, False)
        found.append(event)
    return found[::-1]


def _among_several(events: Sequence[Event]) -> list[Event]:
    """The events with every backward given to those of several optimizers that it feeds."""
    feeds, steps, places = _feeds(events), _steps(events), _occurrences(events)
    born = {event.optimizer: index for index, event in enumerate(events) if event.kind is Kind.CREATE}
    held = {event.optimizer: event.reach for event in events if event.kind is Kind.CREATE}
    again = _clipped_again(events)
    known = {event.optimizer for event in events if event.kind in (Kind.UNSCALE, Kind.SCALER_STEP)}
    result: list[Event] = []
    current: tuple[str, ...] = ()
    clipped: str | None = None
    stepped: set[str | None] = set()
    through: Reach = frozenset()
    emptied: set[str | None] = set()
    for index, event in enumerate(events):
        if event.kind is Kind.BACKWARD:
            place, through, emptied = event.step_of_program, event.reach, set()
            made = tuple(name for name in feeds.get(place, ()) if born.get(name, index) <= index)
            current, stepped = _alive(made, index, places[place], steps), set()
        if event.kind is Kind.ZERO_GRAD:
            emptied.add(event.optimizer)
        if _is_step(event):
            stepped.add(event.optimizer)
        if _may_be_theirs(event, current, held):
            event = replace(event, optimizer=None)
        if event.kind is Kind.CLIP:
            clipped = event.optimizer
        missed = event.kind is Kind.MISSED_CLIP and (event.optimizer not in current or clipped in current)
        passed = _left_there(event, current, emptied, through, held)
        if missed or passed or (len(current) > 1 and index in again):
            continue
        if event.optimizer is None and (event.kind is Kind.BACKWARD or event.kind in _FOLLOW):
            due, fed = _due(events, index, through), current
            if due is not None:
                fed = _alive(feeds.get(due, ()), index, places[due], steps)
                event = replace(event, detail={**event.detail, TOO_EARLY: "yes"})
            result += [replace(event, optimizer=name) for name in _meant(event, fed, known, stepped)]
        else:
            result.append(event)
    return result


def _due(events: Sequence[Event], index: int, through: Reach) -> Place | None:
    """The place of the next backward, where that goes through the models that are clipped, and the last one through
    others alone: a clip that comes too early."""
    clipped = {model for model, _ in events[index].reach} if events[index].kind is Kind.CLIP else set()
    if not clipped or not through or not _apart(clipped, through):
        return None
    coming = next((event for event in events[index + 1 :] if event.kind is Kind.BACKWARD or _is_step(event)), None)
    if coming is None or coming.kind is not Kind.BACKWARD or not clipped <= {model for model, _ in coming.reach}:
        return None
    return coming.step_of_program


def _apart(models: set[str], through: Reach) -> bool:
    """Whether a backward has gone through none of some models, nor through what holds them or is held by them."""
    pairs = [(f"{one}.", f"{other}.") for one in models for other, _ in through]
    return not any(one.startswith(other) or other.startswith(one) for one, other in pairs)


def _fed_besides(events: Sequence[Event]) -> Sequence[Event]:
    """The events, with the backward behind a zeroing given to the optimizer, too, whose gradients are zeroed and whose
    models it goes through, if that one never steps and all that steps is seen: it is meant to."""
    if not events or BESIDE_OTHERS not in events[-1].detail:
        return events
    stepped = {event.optimizer for event in events if event.kind in STEPS}
    zeroed = {event.optimizer for event in events if event.kind is Kind.ZERO_GRAD} - stepped
    made = [event for event in events if event.kind is Kind.CREATE and event.optimizer is not None]
    moved = [event.reach for event in made if event.optimizer in stepped]  # their weights do move
    left = [event for event in made if event.optimizer in zeroed and not any(event.reach & one for one in moved)]
    result: list[Event] = []
    empty: set[str | None] = set()
    for event in events:
        result.append(event)
        if event.kind is Kind.ZERO_GRAD:
            empty.add(event.optimizer)
        elif event.kind is Kind.BACKWARD:
            filled = [one.optimizer for one in left if one.optimizer in empty and one.reach & event.reach]
            result += [replace(event, optimizer=name) for name in filled]
            empty -= set(filled)
    return result


def _may_be_theirs(event: Event, fed: Sequence[str], held: Mapping[str | None, Reach]) -> bool:
    """Whether what is clipped for another optimizer may belong to those that are fed: nobody has seen what they hold,
    or they hold the same, as those of two phases do."""
    if event.kind not in _OF_GRADIENTS or not fed or event.optimizer in (None, *fed):
        return False
    own = held.get(event.optimizer, frozenset())
    return all(not held.get(name) or held[name] & own for name in fed)


def _left_there(
    event: Event, fed: Sequence[str], emptied: set[str | None], through: Reach, held: Mapping[str | None, Reach]
) -> bool:
    """Whether a clip for an optimizer that the last backward is not for may meet what that has left there on its way to
    those that it feeds."""
    if event.kind is not Kind.CLIP or not fed or event.optimizer in (None, *fed) or emptied & {None, event.optimizer}:
        return False
    return not through or bool(through & held.get(event.optimizer, through))


def _is_step(event: Event) -> bool:
    return event.kind in STEPS or "steps" in event.detail


def _one_of_two_names(events: Sequence[Event]) -> Sequence[Event]:
    """The events, with one name where one optimizer only steps and another one is only zeroed, and it is not known that
    they are two: `optimizer.zero_grad()`, `parts.optimizer.step()`."""
    steps = {event.optimizer for event in events if event.kind in STEPS} - {None}
    zeroed = {event.optimizer for event in events if event.kind is Kind.ZERO_GRAD} - {None}
    if len(steps - zeroed) != 1 or len(zeroed - steps) != 1:
        return events
    (stepped,), (emptied,) = steps - zeroed, zeroed - steps
    made = {event.optimizer for event in events if event.kind is Kind.CREATE}
    if {stepped, emptied} <= made or _owner(stepped) == _owner(emptied):
        return events
    return [replace(event, optimizer=stepped) if event.optimizer == emptied else event for event in events]


def _owner(name: str | None) -> str:
    """What holds an optimizer: two that one thing holds are two."""
    return (name or "").rpartition(".")[0]


def _meant(event: Event, current: tuple[str, ...], known: set[str | None], stepped: set[str | None]) -> list[str]:
    """Those of the optimizers of a backward that an event is for: a clip is for those that the scaler knows and have
    not stepped since, if there are any."""
    if event.kind not in _OF_GRADIENTS:
        return list(current)
    asked = [name for name in current if name in known] or list(current)
    return [name for name in asked if name not in stepped] or asked


def _clipped_again(events: Sequence[Event]) -> set[int]:
    """Which clips, and looks at norms, name no optimizer and happen at their place again before the next backward."""
    found: set[int] = set()
    seen: dict[Place, int] = {}
    for index, event in enumerate(events):
        if event.kind is Kind.BACKWARD:
            seen = {}
        elif event.kind in (Kind.CLIP, Kind.NORM) and event.optimizer is None:
            place = event.step_of_program
            found |= {index, seen[place]} if place in seen else set()
            seen[place] = index
    return found


def _idle(event: Event, names: Sequence[str]) -> bool:
    """Whether an event clips for an optimizer that never steps: for a look at the gradients, or under another name."""
    if event.kind is Kind.MISSED_CLIP:
        return len(names) == 1
    return event.kind in (Kind.CLIP, Kind.NORM) and event.optimizer is not None and event.optimizer not in names


def _steps(events: Sequence[Event]) -> dict[str, list[int]]:
    """Per optimizer: when it steps."""
    steps: dict[str, list[int]] = {}
    for index, event in enumerate(events):
        if _is_step(event) and event.optimizer is not None:
            steps.setdefault(event.optimizer, []).append(index)
    return steps


def _alive(names: tuple[str, ...], index: int, runs: list[int], steps: dict[str, list[int]]) -> tuple[str, ...]:
    """Those of several optimizers that a backward feeds now: the one that steps next, and what steps with it.

    `runs`: when the same place runs; what steps with the first does so before that. After the last step of all, the
    one that stepped last.
    """
    if len(names) < 2:
        return names
    following = {name: next((when for when in steps[name] if when > index), None) for name in names}
    coming = {name: when for name, when in following.items() if when is not None}
    if not coming:
        latest = max(steps[name][-1] for name in names)
        return tuple(name for name in names if steps[name][-1] == latest)
    first = min(coming.values())
    again = next((when for when in runs if when > first), math.inf)
    return tuple(name for name in names if name in coming and coming[name] < again)


def _given(event: Event, name: str) -> Event:
    if event.optimizer is None and (event.kind is Kind.BACKWARD or event.kind in _FOLLOW):
        return replace(event, optimizer=name)
    return event


def _occurrences(events: Sequence[Event]) -> dict[Place, list[int]]:
    """Per place of a backward: when it runs."""
    found: dict[Place, list[int]] = {}
    for index, event in enumerate(events):
        if event.kind is Kind.BACKWARD:
            found.setdefault(event.step_of_program, []).append(index)
    return found


def _feeds(events: Sequence[Event]) -> dict[Place, tuple[str, ...]]:
    """Per place of a backward: the optimizers that step right after it, or after the backward that follows it.

    A backward by itself does not go with the one of a loop that comes later.
    """
    direct: dict[Place, tuple[str, ...]] = {}
    following: dict[Place, Place] = {}
    waiting: Place | None = None
    looped = False
    for event in events:
        if event.kind is Kind.BACKWARD:
            place = event.step_of_program
            if waiting is not None and waiting != place and looped is event.repeats:
                following.setdefault(waiting, place)
            waiting, looped = place, event.repeats
        elif _is_step(event) and waiting is not None and event.optimizer is not None:
            known = direct.get(waiting, ())
            direct[waiting] = known if event.optimizer in known else (*known, event.optimizer)
    return _by_scale(events, {place: _reached(place, direct, following) for place in {*direct, *following}})


def _by_scale(events: Sequence[Event], feeds: dict[Place, tuple[str, ...]]) -> dict[Place, tuple[str, ...]]:
    """The same, where losses with and without a scale, or with those of several scalers, go before steps of both kinds:
    each feeds those of its own kind; without a scale, of optimizers that were not seen being made."""
    feeds = _by_scaler(events, feeds)
    made = {event.optimizer for event in events if event.kind is Kind.CREATE}
    unscales = {event.optimizer for event in events if event.kind is Kind.SCALER_STEP}
    scaled = {event.step_of_program: event.scaled for event in events if event.kind is Kind.BACKWARD}
    kinds = {names: {scaled[place] for place, others in feeds.items() if others == names} for names in feeds.values()}
    found = dict(feeds)
    for place, names in feeds.items():
        alone = tuple(name for name in names if name not in unscales)
        if made.isdisjoint(names) and alone and len(alone) < len(names) and kinds[names] == {True, False}:
            found[place] = tuple(name for name in names if name in unscales) if scaled[place] else alone
    return found


def _by_scaler(events: Sequence[Event], feeds: dict[Place, tuple[str, ...]]) -> dict[Place, tuple[str, ...]]:
    """The same, where several scalers step: a loss feeds those that step next whose step takes its scale out, if there
    are any."""
    steps = stepped_by(events)
    if len(steps) < 2:
        return feeds
    found = dict(feeds)
    for place, scaler in sole_scalers(events).items():
        own = tuple(name for name in feeds.get(place, ()) if name in steps.get(scaler, ()))
        found[place] = own or found.get(place, ())
    return found


def _reached(place: Place, direct: dict[Place, tuple[str, ...]], following: dict[Place, Place]) -> tuple[str, ...]:
    seen: set[Place] = set()
    while place not in direct and place in following and place not in seen:
        seen.add(place)
        place = following[place]
    return direct.get(place, ())
