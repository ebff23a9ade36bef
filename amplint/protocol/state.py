"""A training run so far: a ledger per optimizer, a cadence per scheduler, and the last event of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from amplint.protocol.cadence import Cadence, advance_cadence
from amplint.protocol.events import STEPS, Event, Kind, Site
from amplint.protocol.ledger import UNKNOWN, Ledger, advance
from amplint.protocol.total import NO_TOTAL, Total, advance_total
from amplint.protocol.values import with_changes

OF_NOBODY = frozenset({Kind.DISCARD, Kind.EMPTY_CLIP, Kind.BYPASS, Kind.CRITERION})
"""Of a call by itself, whatever the gradients are."""

_OF_ALL = frozenset({Kind.EPOCH_END, Kind.END})
_NO_LEDGER, _NO_CADENCE = Ledger(), Cadence()  # frozen: all moments may share them


@dataclass(frozen=True)
class Moment:
    """An event and what was true just before it: of an optimizer (`ledger`), a scheduler (`cadence`) or a `total`.

    `last` is the latest earlier event of each kind that concerned the same one, whose key is `name`.
    """

    event: Event
    ledger: Ledger
    cadence: Cadence
    last: dict[Kind, Event]
    of_scheduler: bool = False
    name: str = ""
    total: Total = NO_TOTAL


_NO_MOMENT = Moment(Event(Kind.CREATE, Site("", 0)), _NO_LEDGER, _NO_CADENCE, {})


@dataclass
class State:
    """Feeds events to the ledgers and cadences, and shows every moment to whoever judges.

    `unknown_start`: what the gradients hold before the first event is not known.
    """

    ledgers: dict[str, Ledger] = field(default_factory=dict)
    cadences: dict[str, Cadence] = field(default_factory=dict)
    totals: dict[str, Total] = field(default_factory=dict)
    last: dict[str, dict[Kind, Event]] = field(default_factory=dict)
    scalers: dict[str, str] = field(default_factory=dict)
    drives: dict[str, str | None] = field(default_factory=dict)
    made: dict[str, Event] = field(default_factory=dict)
    unknown_start: bool = False

    def expect(self, events: Iterable[Event]) -> None:
        """Makes the schedulers of a trace known before its first event, however late they first step."""
        for event in events:
            if event.scheduler is not None:
                self._register(event)

    def moments(self, event: Event) -> Iterator[Moment]:
        """The moments of `event`, one per optimizer and scheduler that it concerns; afterwards all are advanced."""
        self._register(event)
        if event.kind is Kind.OPAQUE and event.optimizer is None:
            self.unknown_start = True  # it may have touched optimizers that have not been heard of yet
        if event.kind is Kind.SCALER_CREATED:
            self.made[event.scaler or ""] = event
            return
        if event.kind in OF_NOBODY:
            yield Moment(event, _NO_LEDGER, _NO_CADENCE, {})
            return
        for total in self._totals(event):
            known = self.totals.get(total, NO_TOTAL)
            yield Moment(event, _NO_LEDGER, _NO_CADENCE, dict(self.last.setdefault(total, {})), name=total, total=known)
            self.totals[total] = advance_total(known, event)
            self._remember(total, event)
        for optimizer in self._optimizers(event):
            yield with_changes(
                _NO_MOMENT, event=event, ledger=self.ledgers[optimizer], last=dict(self.last[optimizer]), name=optimizer
            )
            self.ledgers[optimizer] = advance(self.ledgers[optimizer], event)
            self._remember(optimizer, event)
        for scheduler in self._schedulers(event):
            yield with_changes(
                _NO_MOMENT,
                event=event,
                cadence=self.cadences[scheduler],
                last=dict(self.last[scheduler]),
                of_scheduler=True,
                name=scheduler,
            )
            self.cadences[scheduler] = advance_cadence(self.cadences[scheduler], event)
            self._remember(scheduler, event)

    def _remember(self, name: str, event: Event) -> None:
        """A step through the scaler is also the latest step, and so is a scheduler's that is told something."""
        self.last[name][event.kind] = event
        if event.kind in STEPS:
            self.last[name][Kind.STEP] = event
        elif event.kind is Kind.SCHEDULER_TOLD:
            self.last[name][Kind.SCHEDULER_STEP] = event

    def _register(self, event: Event) -> None:
        if event.scheduler is not None and event.scheduler not in self.cadences:
            self.cadences[event.scheduler] = Cadence()
            self.drives[event.scheduler] = event.optimizer
            self.last[event.scheduler] = {}
        elif event.optimizer is not None and event.scheduler is None and event.optimizer not in self.ledgers:
            known = event.kind is Kind.CREATE or not self.unknown_start
            self.ledgers[event.optimizer] = Ledger() if known else UNKNOWN
            self.last[event.optimizer] = {}
        if event.optimizer is not None and event.scaler is not None and event.scheduler is None:
            self.scalers[event.optimizer] = event.scaler
            if event.scaler in self.made:
                self.last[event.optimizer][Kind.SCALER_CREATED] = self.made[event.scaler]

    def _totals(self, event: Event) -> list[str]:
        if event.total is not None:
            return [event.total]
        return list(self.totals) if event.kind is Kind.END else []

    def _optimizers(self, event: Event) -> list[str]:
        """The optimizers that an event concerns: the one it names, those of the scaler it updates, else all."""
        if event.scheduler is not None or event.total is not None:
            return []
        if event.optimizer is not None:
            return [event.optimizer]
        if event.kind is Kind.UPDATE:
            return [name for name in self.ledgers if self.scalers.get(name, event.scaler) == event.scaler]
        return list(self.ledgers)

    def _schedulers(self, event: Event) -> list[str]:
        """The schedulers that an event concerns: the one it names, else those that drive its optimizer."""
        if event.scheduler is not None:
            return [event.scheduler]
        if event.total is not None:
            return []
        if event.kind in _OF_ALL or event.optimizer is None:
            return list(self.cadences)
        return [name for name, optimizer in self.drives.items() if optimizer in (None, event.optimizer)]
