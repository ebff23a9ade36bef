"""A training run so far: a ledger per optimizer, a cadence per scheduler, and the last event of each kind."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from amplint.protocol.cadence import Cadence, advance_cadence
from amplint.protocol.checks import NO_RECORDS, OF_CHECKS, Records, advance_records
from amplint.protocol.events import STEPS, Event, Kind, Site
from amplint.protocol.ledger import UNKNOWN, Ledger, Stage, advance
from amplint.protocol.total import NO_TOTAL, Total, advance_total
from amplint.protocol.values import with_changes

OF_NOBODY = frozenset({Kind.DISCARD, Kind.RESCALE, Kind.EMPTY_CLIP, Kind.BYPASS, Kind.CRITERION, Kind.PENALTY})
"""Of a call by itself, whatever the gradients are."""

_OF_ALL = frozenset({Kind.EPOCH_END, Kind.END})
_NO_LEDGER, _NO_CADENCE = Ledger(), Cadence()  # frozen: all moments may share them


@dataclass(frozen=True)
class Moment:
    """An event and what was true just before it: of an optimizer (`ledger`), a scheduler (`cadence`) or a `total`.

    `last` is the latest earlier event of each kind that concerned the same one, whose key is `name`. `records`: what
    the scaler of the event has recorded of overflows.
    """

    event: Event
    ledger: Ledger
    cadence: Cadence
    last: dict[Kind, Event]
    of_scheduler: bool = False
    name: str = ""
    total: Total = NO_TOTAL
    records: Records = NO_RECORDS


_NO_MOMENT = Moment(Event(Kind.CREATE, Site("", 0)), _NO_LEDGER, _NO_CADENCE, {})


@dataclass
class State:
    """Feeds events to the ledgers and cadences, and shows every moment to whoever judges.

    `unknown_start`: what the gradients hold before the first event is not known. `unasked`: the kinds of event of
    which a scheduler's moment need not be shown, because nobody has a question about it. `places`: where schedulers
    were made, the last one at each place. `succeeded`: those that have stepped before another one was made in their
    place: what ends after that is no epoch of theirs.
    """

    ledgers: dict[str, Ledger] = field(default_factory=dict)
    cadences: dict[str, Cadence] = field(default_factory=dict)
    totals: dict[str, Total] = field(default_factory=dict)
    last: dict[str, dict[Kind, Event]] = field(default_factory=dict)
    scalers: dict[str, str] = field(default_factory=dict)
    records: dict[str, Records] = field(default_factory=dict)
    drives: dict[str, str | None] = field(default_factory=dict)
    made: dict[str, Event] = field(default_factory=dict)
    places: dict[tuple[Site, ...], str] = field(default_factory=dict)
    succeeded: dict[str, bool] = field(default_factory=dict)
    unknown_start: bool = False
    unasked: Collection[Kind] = ()

    def expect(self, events: Iterable[Event]) -> None:
        """Makes the schedulers of a trace known before its first event, however late they first step."""
        for event in events:
            if event.scheduler is not None:
                self._register(event)

    def moments(self, event: Event) -> Iterator[Moment]:
        """The moments of `event`, one per optimizer and scheduler that it concerns; afterwards all are advanced."""
        self._register(event)
        kind = event.kind
        if kind is Kind.OPAQUE and event.optimizer is None:
            self.unknown_start = True  # it may have touched optimizers that have not been heard of yet
        if kind is Kind.SCALER_CREATED:
            self.made[event.scaler or ""] = event
            return
        if kind in OF_NOBODY:
            yield Moment(event, _NO_LEDGER, _NO_CADENCE, {})
            return
        for total in self._totals(event):
            known, last = self.totals.get(total, NO_TOTAL), self.last.setdefault(total, {})
            yield Moment(event, _NO_LEDGER, _NO_CADENCE, last, name=total, total=known)
            self.totals[total] = advance_total(known, event)
            self._remember(total, event)
        records = self._record(event) if kind in OF_CHECKS else NO_RECORDS
        for optimizer in self._optimizers(event):
            ledger, last = self.ledgers[optimizer], self.last[optimizer]
            yield with_changes(_NO_MOMENT, event=event, ledger=ledger, last=last, name=optimizer, records=records)
            self._reuse(optimizer, event)
            self.ledgers[optimizer] = advance(self.ledgers[optimizer], event)
            self._remember(optimizer, event)
        if event.scheduler is not None:
            self._succeed(event.scheduler, event)
        unasked = kind in self.unasked
        for scheduler in self._schedulers(event):
            cadence, last = self.cadences[scheduler], self.last[scheduler]
            if not unasked:
                yield with_changes(
                    _NO_MOMENT, event=event, cadence=cadence, last=last, of_scheduler=True, name=scheduler
                )
            self.cadences[scheduler] = advance_cadence(self.cadences[scheduler], event)
            self._remember(scheduler, event)

    def _record(self, event: Event) -> Records:
        """What the scaler of an event had recorded before it; afterwards it is advanced, or all that it may concern."""
        before = self.records.get(event.scaler or "", NO_RECORDS)
        if event.kind is Kind.OPAQUE:
            self.records = {name: advance_records(known, event) for name, known in self.records.items()}
        elif event.scaler is not None:
            self.records[event.scaler] = advance_records(before, event)
        return before

    def amend(self, event: Event, amended: Event) -> None:
        """Puts what has become known of a past event in its place."""
        for name, last in self.last.items():
            if any(one is event for one in last.values()):
                self.last[name] = {kind: amended if one is event else one for kind, one in last.items()}

    def _reuse(self, name: str, event: Event) -> None:
        """The first step since the last erasure whose gradients a loss is added to."""
        ledger, last = self.ledgers[name], self.last[name]
        if event.kind is Kind.ZERO_GRAD and Kind.REUSED in last:
            self.last[name] = {kind: one for kind, one in last.items() if kind is not Kind.REUSED}
        elif event.kind is Kind.BACKWARD and ledger.used and not ledger.window.micro_steps:
            self.last[name] = {Kind.REUSED: last[Kind.STEP], **last}

    def relieve(self) -> None:
        """A scheduler that another one of the same optimizer steps for was perhaps never meant to step in this run."""
        moved = {self.drives[name] for name, cadence in self.cadences.items() if cadence.cadence_steps or cadence.told}
        for name, cadence in self.cadences.items():
            if self.drives[name] in moved:
                self.cadences[name] = with_changes(cadence, told=max(cadence.told, 1))

    def _remember(self, name: str, event: Event) -> None:
        """A step through the scaler is also the latest step, and so is a scheduler's that is told something.

        Moments share what is remembered, so it is never changed in place.
        """
        last, kind = self.last[name], event.kind
        if last.get(kind) is event:
            return
        self.last[name] = last = {**last, kind: event}
        if kind in STEPS:
            last[Kind.STEP] = event
        elif kind is Kind.SCHEDULER_TOLD:
            last[Kind.SCHEDULER_STEP] = event

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
            self._take_over(event.optimizer, self.made.get(event.scaler))

    def _succeed(self, name: str, event: Event) -> None:
        """A scheduler is made, or moves: the one that was made in its place before has done its part, unless it is one
        of several that take turns."""
        if event.kind is Kind.CREATE:
            before = self.places.get(event.step_of_program, "")
            if before in self.cadences and self.cadences[before].cadence_steps:
                self.succeeded[before] = True
            self.places[event.step_of_program] = name
        elif event.kind is Kind.SCHEDULER_STEP:
            self.succeeded.pop(name, None)

    def _take_over(self, name: str, made: Event | None) -> None:
        """Another scaler than before scales for an optimizer, and keeps its own books of it: they are empty."""
        last = self.last[name]
        if made is None or last.get(Kind.SCALER_CREATED) is made:
            return
        if Kind.SCALER_CREATED in last:
            self.ledgers[name] = with_changes(self.ledgers[name], stage=Stage.READY)
        self.last[name] = {**last, Kind.SCALER_CREATED: made}

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
        """The schedulers that an event concerns: the one it names, else those that drive its optimizer, made or not."""
        if event.scheduler is not None:
            return [event.scheduler]
        if event.total is not None or event.kind is Kind.CREATE:
            return []
        if event.kind is Kind.EPOCH_END:
            return [name for name in self.cadences if name not in self.succeeded]
        if event.kind in _OF_ALL or event.optimizer is None:
            return list(self.cadences)
        return [name for name, optimizer in self.drives.items() if optimizer in (None, event.optimizer)]
