"""The parts of events that only some kinds of them have."""

from __future__ import annotations

from typing import TypedDict

from amplint.protocol.precision import Precision
from amplint.protocol.ranks import Sync, Wrapper


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
