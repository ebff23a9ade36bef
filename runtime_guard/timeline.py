"""The events of one window of each optimizer, as a picture needs them: of the first window with a violation, else of
the second window.
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass, field
from typing import Any

from amplint.protocol.events import STEPS, Event, Kind, Site
from amplint.protocol.state import State

_MOST = 200
TOLD = frozenset({Kind.BACKWARD, Kind.UNSCALE, Kind.CLIP, Kind.NORM, Kind.STEP, Kind.SCALER_STEP, Kind.UPDATE,
                   Kind.ZERO_GRAD, Kind.SCHEDULER_STEP})  # fmt: skip


@dataclass
class _Mark:
    """One event of a line, and the rule that it breaks."""

    event: Event
    micro_step: int
    at: float
    violation: str | None = None


@dataclass
class _Line:
    """The window that is being filled, and the one that is kept."""

    number: int = 1
    began: float = 0.0
    stepped: int = 0
    most: int = 1
    events: list[_Mark] = field(default_factory=list)
    kept: list[_Mark] | None = None
    kept_number: int = 0
    wrong: bool = False
    kept_wrong: bool = False

    def mark(self) -> tuple[int, ...]:
        """Its number, and how far it and the kept one are."""
        return (self.number, len(self.events), self.stepped, self.most, self.wrong, self.kept_wrong, self.kept is None)


class Timelines:
    """One line for each optimizer."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    def add(self, event: Event, state: State, now: float) -> None:
        """Enters an event of a kind that is `TOLD`; a window ends where the backward after its step begins the next."""
        kind = event.kind
        for name in (event.optimizer,) if event.optimizer is not None else state.ledgers:
            line = self._lines.get(name)
            if line is None:
                line = self._lines[name] = _Line()
            if line.kept_wrong:
                continue
            if line.stepped and kind is Kind.BACKWARD:
                _close(line)
            events = line.events
            if len(events) < _MOST:
                line.began = line.began or now
                ledger = state.ledgers.get(name)
                present = (ledger.window.micro_steps if ledger is not None else 0) or 1
                micro_step = line.stepped or (line.most if kind in STEPS else present)
                events.append(_Mark(event, micro_step, now - line.began))
                if micro_step > line.most:
                    line.most = micro_step
            if kind in STEPS:
                line.stepped = line.most

    def marks(self) -> dict[str, tuple[int, ...]]:
        """Which window of each optimizer is being filled, and how far it and the kept one are."""
        return {name: line.mark() for name, line in self._lines.items()}

    def number(self, marks: dict[str, tuple[int, ...]]) -> None:
        """Sets which window of each optimizer is being filled."""
        for name, (number, *_) in marks.items():
            self._lines[name].number = number

    def wrong(self, optimizer: str | None, code: str, site: Site) -> None:
        """Marks the latest event at a place as a violation."""
        line = self._lines.get(optimizer or "")
        if line is None:
            return
        line.wrong = True
        for mark in reversed(line.events):
            if mark.event.site == site:
                mark.violation = mark.violation or code
                return

    def as_json(self, functions: dict[Site, str]) -> list[dict[str, Any]]:
        """The kept windows."""
        for line in self._lines.values():
            if line.kept is None or (line.wrong and not line.kept_wrong):
                _close(line)
        return [
            {"optimizer": name, "window": line.kept_number, "events": [_told(one, functions) for one in line.kept]}
            for name, line in sorted(self._lines.items())
            if line.kept
        ]


def _close(line: _Line) -> None:
    better = line.wrong and not line.kept_wrong
    if line.kept is None or better or line.kept_number < 2:
        line.kept, line.kept_number, line.kept_wrong = line.events, line.number, line.wrong
    line.number += 1
    line.events, line.began, line.stepped, line.most, line.wrong = [], 0.0, 0, 1, False


def _detail(event: Event) -> str | None:
    if event.kind is Kind.BACKWARD and event.weight is not None:
        return f"weight {float(event.weight):.4g}"
    return f"limit {event.detail['limit']}" if "limit" in event.detail else None


def _told(mark: _Mark, functions: dict[Site, str]) -> dict[str, Any]:
    event, site = mark.event, mark.event.site
    return {
        "event": event.kind.name.lower(),
        "file": site.path,
        "line": site.row,
        "function": functions.get(site, ""),
        "source": linecache.getline(site.path, site.row).strip() or None,
        "micro_step": mark.micro_step,
        "at": mark.at,
        "detail": _detail(event),
        "scaled": event.scaled,
        "violation": mark.violation,
    }
