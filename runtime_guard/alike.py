"""Events that are alike are one object: a training loop makes the same few, window after window.

What is one object is built once, found in a table afterwards, and known for the same without being compared.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from amplint.protocol.events import Event, Gate, Kind, Site
from amplint.protocol.readings import Reading
from amplint.protocol.values import with_changes

MOST = 2048
"""So many are kept: the weights of a loss may be other ones in every micro-step."""

_BLANK = Event(Kind.CREATE, Site("", 0))


class Alike:
    """The events so far, by what is in them."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Event] = {}

    def event(
        self,
        kind: Kind,
        place: tuple[Site, ...],
        gate: Gate | None,
        detail: dict[str, str] | None,
        reading: Reading | None,
        parts: dict[str, Any],
    ) -> Event:
        """The event of these parts. Its `detail` may be that of an earlier one, and is never changed."""
        key = (kind, place, gate and gate.site, *parts.items(), *(detail.items() if detail else ()))
        found = self._known.get(key)
        if found is None or found.reading is not reading or found.gate is not gate:
            if len(self._known) >= MOST:
                self._known.clear()
            found = with_changes(
                _BLANK, kind=kind, site=place[-1], stack=place[:-1], gate=gate, detail=detail or {}, reading=reading,
                **parts,
            )  # fmt: skip
            self._known[key] = found
        return found
