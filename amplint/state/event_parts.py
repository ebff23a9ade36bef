"""The parts of events that only some kinds of them have."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from amplint.protocol.events import STEPS, Kind, Site
from amplint.protocol.precision import Precision
from amplint.protocol.ranks import Sync, Wrapper
from amplint.protocol.single_ranks import SOME_RANKS

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from amplint.protocol.events import Event
    from amplint.state.contexts import Ranks
    from amplint.state.values import Optimizer, Scaler


_OF_PRECISION = frozenset({Kind.BACKWARD, *STEPS})
OF_RANKS = frozenset({Kind.SCHEDULER_STEP, Kind.SCHEDULER_TOLD, *STEPS})
"""What all ranks have to do alike."""


class Reduced(TypedDict, total=False):
    """What a backward does on the other ranks."""

    wrapper: Wrapper
    sync: Sync


class Told(Reduced, total=False):
    """What some kinds of events say besides, as `Event` explains it."""

    total: str | None
    scaled: bool | None
    factors: frozenset[str]
    detail: dict[str, str]
    forward: Precision
    reach: frozenset[tuple[str, str]]
    alone: bool


def parameters(kind: Kind, optimizer: Optimizer | None, scaler: Scaler | None) -> Precision:
    """The precision of what is stepped, or unscaled by a scaler that is torch's own and minds."""
    minds = scaler.known and not scaler.sharded if scaler else kind is Kind.STEP
    return optimizer.precision if optimizer is not None and minds else Precision.UNKNOWN


def on_some_ranks(ranks: Ranks, branches: Iterable[tuple[tuple[Site, ...], int]]) -> dict[str, str]:
    """The condition that only some ranks fulfil under which something happens, if there is one."""
    found = next((ranks.guards[one] for one in branches if one in ranks.guards), None)
    return {SOME_RANKS: found} if found is not None else {}


def happened(events: Iterable[Event]) -> Hashable:
    """Events in a form that is quick to compare."""
    return tuple(
        (
            event.kind.value,
            event.site.path,
            event.site.row,
            event.optimizer,
            event.scaled,
            event.weight,
            len(event.stack),
            (event.gate.restarts,) if event.gate is not None else None,
            len(event.maker),
            event.wrapper,
            event.sync,
            (event.region, event.forward, event.parameters) if event.kind in _OF_PRECISION else None,
            tuple(event.detail.items()),
        )
        for event in events
    )
