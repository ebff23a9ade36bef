"""The course of events: what is true after each, what was counted, and the rhythm that a training loop falls into.

A loop makes the same events window after window. In such a *rhythm* an event is only compared with the one that is
expected, and put into a queue; a few windows later the queue is gone through in one go. Going through it is what is
done with every other event, in the same order: the protocol advances, the rules are asked. What is put off is only
when: what is done window by window costs less than the same between two heavy operations of a model, where it is likely
to find the processor's caches empty. The rhythm ends with the first event that is not the one expected, in its kind,
its place, its numbers or anything else, so that what is new is judged at once; and whoever asks what is true is told
what is true now.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amplint.protocol.events import STEPS, Event, Kind, Site
from amplint.protocol.readings import Reading
from amplint.protocol.state import Moment, State
from runtime_guard.tally import Tally
from runtime_guard.timeline import TOLD, Timelines

REGULAR = 3
"""After so many periods in which the same has happened, the next is expected to be like them."""

PUT_OFF = 16
"""So many periods wait at most."""

LONGEST = 512

Place = tuple[Site, ...]


@dataclass(frozen=True, eq=False)
class Beat:
    """An event as it was told, and what it met."""

    kind: Kind
    place: Place
    parts: dict[str, Any]
    detail: dict[str, str]
    reading: Reading | None
    event: Event
    moments: list[Moment]

    @property
    def begins(self) -> bool:
        """Whether this backward was the first of a micro-step."""
        here = self.moments[0].ledger.window.here if self.moments else ()
        return not here or self.place in here


class Course:
    """What has happened, in order. `judge` is asked about each moment, `stepped` told of each optimizer step.

    `at_once`: nothing is put off, so that the call that proves a violation can raise. `script`: the events of a period,
    in a rhythm; `at`: which of them comes next; `passed`: how many have come as expected. `left` is told of its end.
    """

    def __init__(
        self, state: State, judge: Callable[[Moment], None], stepped: Callable[[Event], None], at_once: bool = False
    ) -> None:
        self._state, self._judge, self._stepped = state, judge, stepped
        self._at_once = at_once
        self._tally, self._timelines = Tally(), Timelines()
        self._anchor: str | None = None
        self._period: list[Beat] = []
        self._before: list[Beat] = []
        self._same = 0
        self._waiting = 0
        self._queue: list[tuple[Event, float]] = []
        self._later: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        self.script: list[Beat] = []
        self.at = self.passed = 0
        self.left: Callable[[], None] = lambda: None

    @property
    def state(self) -> State:
        """What is true now."""
        self.catch_up()
        return self._state

    @property
    def tally(self) -> Tally:
        """What was counted until now."""
        self.catch_up()
        return self._tally

    @property
    def counted(self) -> Tally:
        """The same without what waits: for what the queue does not change."""
        return self._tally

    @property
    def timelines(self) -> Timelines:
        """The windows until now."""
        self.catch_up()
        return self._timelines

    def expected(self, kind: Kind, place: Place | None = None) -> Beat | None:
        """The event that is to come in a rhythm, if it is one of this kind and place."""
        beat = self.script[self.at] if self.script else None
        return beat if beat is not None and beat.kind is kind and place in (None, beat.place) else None

    def follows(
        self, kind: Kind, place: Place, parts: dict[str, Any], detail: dict[str, str], reading: Reading | None
    ) -> Beat | None:
        """The event of the rhythm that has happened again; None, and the rhythm is over, if it is another one."""
        if not self.script:
            return None
        beat = self.script[self.at]
        if (
            beat.kind is not kind
            or beat.place is not place
            or beat.reading is not reading
            or beat.parts != parts
            or beat.detail != detail
        ):
            self._leave()
            return None
        return self.goes_on()

    def goes_on(self) -> Beat:
        """The next event of the rhythm, which has happened again."""
        beat = self.script[self.at]
        self._queue.append((beat.event, time.perf_counter()))
        self.at += 1
        self.passed += 1
        if self.at == len(self.script):
            self.at = 0
            self._waiting += 1
            if self._waiting >= PUT_OFF:
                self.catch_up()
        return beat

    def put_off(self, function: Callable[..., Any], *args: Any) -> None:
        """Something that is done when what waits is gone through."""
        self._later.append((function, args))

    def takes(self, kind: Kind, place: Place, parts: dict[str, Any], event: Event) -> list[Moment]:
        """The moments of an event that was not expected."""
        if self.script:
            self._leave()
        moments = self._take(event, time.perf_counter())
        self._note(Beat(kind, place, parts, event.detail, event.reading, event, moments))
        return moments

    def catch_up(self) -> None:
        """Goes through what waits."""
        if self._later:
            later, self._later = self._later, []
            for function, args in later:
                function(*args)
        if not self._queue:
            return
        queue, self._queue, self._waiting = self._queue, [], 0
        for event, at in queue:
            self._take(event, at)

    def _take(self, event: Event, at: float) -> list[Moment]:
        moments = list(self._state.moments(event))
        self._tally.count(event, moments, self._state)
        if event.kind in TOLD:
            self._timelines.add(event, self._state, at)
        for moment in moments:
            self._judge(moment)
        if event.kind in STEPS:
            self._stepped(event)
        return moments

    def _note(self, beat: Beat) -> None:
        """Looks whether the events since the last step of the optimizer that stepped first are those before it."""
        self._period.append(beat)
        if len(self._period) > LONGEST:
            self._period, self._before, self._same = [], [], 0
        if beat.kind not in STEPS or beat.event.optimizer != (self._anchor or beat.event.optimizer):
            return
        self._anchor = beat.event.optimizer
        before, self._before, self._period = self._before, self._period, []
        again = len(before) == len(self._before) and all(
            one.event is other.event for one, other in zip(before, self._before, strict=True)
        )
        self._same = self._same + 1 if again else 0
        if self._same >= REGULAR and not self._at_once:
            self.script, self.at = self._before, 0

    def _leave(self) -> None:
        """What has happened in the part of a period that was as expected stands at the beginning of the next one."""
        begun = self.script[: self.at]
        self.script, self.at, self._same = [], 0, 0
        self._period = list(begun)
        self.catch_up()
        self.left()
