"""Losses that go back through one optimizer's model on their way to another's.

Whose a model is shows where its optimizer is made, or where a loss reaches it alone. A loss that goes through it, and
that another optimizer alone steps for, leaves gradients in it that nobody has asked for.

Where several losses go back before several optimizers step, whom one is for shows by the scale that it carries, which
one of them takes out, and by what is erased before it is used: a model whose gradients of one loss are thrown away is a
critic to that loss, and its own loss is not for those whom it criticizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from amplint.protocol.events import STEPS, Event, Kind, Site

Place = tuple[Site, ...]


@dataclass
class _Meant:
    """Per place of a backward the optimizers that it is for; `shown`: the places of which something other than the
    order of the steps shows it. `owners`: of each model. `alike`: those for which another loss is that reaches the
    same models, where nobody has seen whose they are."""

    feeds: dict[Place, set[str]] = field(default_factory=dict)
    owners: dict[str, set[str]] = field(default_factory=dict)
    shown: set[Place] = field(default_factory=set)
    alike: dict[Place, set[str]] = field(default_factory=dict)


def crossed(events: Sequence[Event]) -> list[Event]:
    """The events, with one more where a backward goes through the model of an optimizer that it is not for."""
    meant = _Meant(_feeds(events))
    meant.owners = _owners(events, meant.feeds)
    meant.shown = _by_scalers(events, meant.feeds)
    meant.alike = _alike(events, meant)
    _by_erasures(events, meant)
    return [later for event in events for later in _passed(event, meant)]


def _feeds(events: Sequence[Event]) -> dict[Place, set[str]]:
    feeds: dict[Place, set[str]] = {}
    for event in events:
        if event.kind is Kind.BACKWARD and event.optimizer is not None:
            feeds.setdefault(event.step_of_program, set()).add(event.optimizer)
    return feeds


def _owners(events: Sequence[Event], feeds: Mapping[Place, set[str]]) -> dict[str, set[str]]:
    """The optimizers of each model: those that are made for it, or for parts of it or what it is a part of; or else of
    losses that reach it alone."""
    held = [(one.optimizer, one.reach) for one in events if one.kind is Kind.CREATE and one.optimizer is not None]
    owners: dict[str, set[str]] = {}
    for model in {model for event in events if event.kind is Kind.BACKWARD for model, _ in event.reach}:
        if own := {name for name, reach in held if any(_overlap(model, one) for one, _ in reach)}:
            owners[model] = own
    made = set(owners)
    for event in events:
        if _alone(event) and (model := next(iter(event.reach))[0]) not in made:
            owners.setdefault(model, set()).update(feeds.get(event.step_of_program, ()))
    return owners


def _overlap(one: str, other: str) -> bool:
    """Whether two models are the same, or one is a part of the other."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _alone(event: Event) -> bool:
    """Whether a backward reaches a single model."""
    return event.kind is Kind.BACKWARD and len({model for model, _ in event.reach}) == 1


def _above(event: Event) -> set[str]:
    """The models that a backward goes through on its way to others."""
    return {above for above, below in event.reach if above != below}


def _by_scalers(events: Sequence[Event], feeds: Mapping[Place, set[str]]) -> set[Place]:
    """The places of losses whose scale is that of the optimizers that they feed, and of no other."""
    steps = stepped_by(events)
    if len(steps) < 2:
        return set()
    scaled = sole_scalers(events).items()
    return {place for place, scaler in scaled if feeds.get(place) and feeds[place] <= steps.get(scaler, set())}


def _alike(events: Sequence[Event], meant: _Meant) -> dict[Place, set[str]]:
    """Per place of a loss that its scale shows whom it is for: those whom others are for that reach the same models."""
    made = {event.optimizer for event in events if event.kind is Kind.CREATE}
    losses = {event.step_of_program: event.reach for event in events if event.kind is Kind.BACKWARD}
    own = {place: reach for place, reach in losses.items() if reach and place in meant.shown}
    own = {place: reach for place, reach in own.items() if made.isdisjoint(meant.feeds[place])}
    return {
        place: set().union(*(meant.feeds[other] for other, same in own.items() if same == reach)) - meant.feeds[place]
        for place, reach in own.items()
    }


def stepped_by(events: Sequence[Event]) -> dict[str, set[str | None]]:
    """The optimizers that each scaler steps."""
    steps: dict[str, set[str | None]] = {}
    for event in events:
        if event.kind is Kind.SCALER_STEP and event.scaler is not None:
            steps.setdefault(event.scaler, set()).add(event.optimizer)
    return steps


def sole_scalers(events: Sequence[Event]) -> dict[Place, str]:
    """The scaler of each place of a backward that always has the same one."""
    scalers: dict[Place, set[str | None]] = {}
    for event in events:
        if event.kind is Kind.BACKWARD:
            scalers.setdefault(event.step_of_program, set()).add(event.scaler)
    sole = {place: next(iter(found)) for place, found in scalers.items() if len(found) == 1}
    return {place: scaler for place, scaler in sole.items() if scaler is not None}


def _by_erasures(events: Sequence[Event], meant: _Meant) -> None:
    """Takes from a loss the optimizer that it never moves anything for, and from that one's own loss those that the
    first is for."""
    unused = _unused(events, meant.owners)
    critics: dict[str, set[str]] = {}
    losses = {event.step_of_program: event for event in events if event.kind is Kind.BACKWARD}
    for place, event in losses.items():
        for model in _above(event):
            owner = _sole(meant.owners, model)
            others = meant.feeds.get(place, set()) - {owner}
            if owner is not None and (place, owner) in unused and others:
                meant.feeds[place] = others
                meant.shown.add(place)
                critics.setdefault(model, set()).update(others)
    for place, event in losses.items():
        for model in _above(event) & set(critics) if place not in meant.shown else ():
            owner = _sole(meant.owners, model)
            if owner in meant.feeds.get(place, ()):
                meant.feeds[place] = meant.feeds[place] - critics[model]
                meant.shown.add(place)


def _sole(owners: Mapping[str, set[str]], model: str) -> str | None:
    found = owners.get(model, set())
    return next(iter(found)) if len(found) == 1 else None


def _unused(events: Sequence[Event], owners: Mapping[str, set[str]]) -> set[tuple[Place, str]]:
    """The places of losses whose gradients an optimizer erases whenever they are there, and never steps with."""
    waiting: dict[str, set[Place]] = {}
    erased: set[tuple[Place, str]] = set()
    used: set[tuple[Place, str]] = set()
    for event in events:
        if event.kind is Kind.BACKWARD:
            for name in {name for model, _ in event.reach for name in owners.get(model, ())}:
                waiting.setdefault(name, set()).add(event.step_of_program)
        elif event.optimizer is not None and (event.kind in STEPS or event.kind is Kind.ZERO_GRAD):
            fate = erased if event.kind is Kind.ZERO_GRAD else used
            fate |= {(place, event.optimizer) for place in waiting.pop(event.optimizer, ())}
    return erased - used


def _passed(event: Event, meant: _Meant) -> Iterator[Event]:
    place = event.step_of_program
    feeds = meant.feeds.get(place, set())
    if event.kind is not Kind.BACKWARD:
        yield event
        return
    shown = place in meant.shown
    if not shown or event.optimizer in feeds:
        yield replace(event, alone=_alone(event) or shown)
    reached = {model for model, _ in event.reach} if shown else _above(event)
    found = {owner for model in reached if (owner := _sole(meant.owners, model)) is not None}
    if feeds == {event.optimizer}:
        found |= meant.alike.get(place, set())
        yield from (replace(event, kind=Kind.PASS, optimizer=name) for name in sorted(found - feeds))
