"""Losses that go back through one optimizer's model on their way to another's.

Whose a model is shows where a loss reaches it alone. A loss that goes through it, and that another optimizer alone
steps for, leaves gradients in it that nobody has asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from amplint.protocol.events import Event, Kind


def crossed(events: Sequence[Event]) -> list[Event]:
    """The events, with one more where a backward goes through the model of an optimizer that it is not for."""
    feeds: dict[tuple[object, ...], set[str]] = {}
    for event in events:
        if event.kind is Kind.BACKWARD and event.optimizer is not None:
            feeds.setdefault(event.step_of_program, set()).add(event.optimizer)
    owners: dict[str, set[str]] = {}
    for event in events:
        if _alone(event):
            owners.setdefault(next(iter(event.reach))[0], set()).update(feeds.get(event.step_of_program, ()))
    return [later for event in events for later in _passed(event, feeds, owners)]


def _alone(event: Event) -> bool:
    """Whether a backward reaches a single model."""
    return event.kind is Kind.BACKWARD and len({model for model, _ in event.reach}) == 1


def _passed(event: Event, feeds: dict[tuple[object, ...], set[str]], owners: dict[str, set[str]]) -> Iterator[Event]:
    if event.kind is not Kind.BACKWARD:
        yield event
        return
    yield replace(event, alone=_alone(event))
    crossing = {above for above, below in event.reach if above != below}
    found = set().union(*(owners[model] for model in crossing if len(owners.get(model, ())) == 1))
    if feeds.get(event.step_of_program) == {event.optimizer}:
        yield from (replace(event, kind=Kind.PASS, optimizer=name) for name in sorted(found - {event.optimizer}))
