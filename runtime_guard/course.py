"""The course of events: what is true after each, what was counted, and the rhythm that a training loop falls into.

A loop makes the same events window after window. In such a *rhythm* an event is only compared with the one that is
expected, and counted. Later the periods that have passed are gone through in one go: two of them one event after the
other, as it is done with every other event: the protocol advances, the rules are asked. Where these two have changed
everything by the same (`strides`) and no rule had anything to say, what is true after the others follows, and the rules
are asked about the last of them. The rhythm ends with the first event that is not the one expected, in its kind, its
place, its numbers or anything else, so that what is new is judged at once; and whoever asks what is true is told what
is true now.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amplint.protocol.events import STEPS, Event, Kind, Site
from amplint.protocol.readings import Reading
from amplint.protocol.state import Moment, State
from amplint.protocol.window import NO_WINDOW, begins_micro_step
from runtime_guard import strides
from runtime_guard.tally import Tally, weight_of
from runtime_guard.timeline import TOLD, Timelines

REGULAR = 3
"""After so many periods in which the same has happened, the next is expected to be like them."""

PUT_OFF = 16
"""So many periods wait at first."""

SKIPPED = 256
"""So many wait at most: twice as many each time, as long as nothing is wrong."""

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
        window = self.moments[0].ledger.window if self.moments else NO_WINDOW
        return begins_micro_step(window, self.place, self.event.branches)


class Course:
    """What has happened, in order. `judge` is asked about each moment and says whether it told anything; `wrong` only
    whether it would; `stepped` is told of each optimizer step.

    `at_once`: nothing is put off, so that the call that proves a violation can raise. `script`: the events of a period,
    in a rhythm; `at`: which of them comes next; `passed`: how many have come as expected. `left` is told of its end;
    `measured` is told to enter what was put off of the numbers, and `pending` to go on with the events of calls that
    were compared.
    """

    def __init__(
        self,
        state: State,
        judge: Callable[[Moment], bool],
        wrong: Callable[[Moment], bool],
        stepped: Callable[[Event], None],
        at_once: bool = False,
    ) -> None:
        self._state, self._judge, self._wrong, self._stepped = state, judge, wrong, stepped
        self._at_once = at_once
        self._tally, self._timelines = Tally(), Timelines()
        self._anchor: str | None = None
        self._period: list[Beat] = []
        self._before: list[Beat] = []
        self._same = 0
        self._whole = self._gone = 0
        self._put_off = PUT_OFF
        self._times: list[float] = []
        self.script: list[Beat] = []
        self.at = self.passed = 0
        self.left: Callable[[], None] = lambda: None
        self.measured: Callable[[], None] = lambda: None
        self.pending: Callable[[], None] = lambda: None

    @property
    def waiting(self) -> int:
        """How many events have come as expected and were not gone through."""
        return self._whole * len(self.script) + self.at - self._gone

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
        self.pending()
        beat = self.script[self.at] if self.script else None
        return beat if beat is not None and beat.kind is kind and place in (None, beat.place) else None

    def follows(
        self, kind: Kind, place: Place, parts: dict[str, Any], detail: dict[str, str], reading: Reading | None
    ) -> Beat | None:
        """The event of the rhythm that has happened again; None, and the rhythm is over, if it is another one."""
        if not self.script:
            return None
        self.pending()
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
        self.go_on(1, time.perf_counter())
        return beat

    def go_on(self, events: int, at: float) -> None:
        """The next events of the rhythm have happened again: as many as one call makes."""
        for _ in range(events):
            self._times.append(at)
            self.passed += 1
            self.at += 1
            if self.at == len(self.script):
                self._ends_period()

    def go_round(self, times: int = 1, read: bool = True) -> None:
        """So many times as many events as a period has have happened again, from wherever in it the loop is. `read`:
        the weights of their losses were looked at."""
        now = time.perf_counter()
        if not read:
            steps = (beat for beat in self.script if beat.kind in STEPS and not beat.event.scheduler and beat.moments)
            self._tally.unread += times * sum(weight_of(one.moments[0].ledger.window) is not None for one in steps)
        if self._gone:
            self.go_on(times * len(self.script), now)
            return
        self._whole += times
        self.passed += times * len(self.script)
        self._times = [now] * self.at
        if self._whole >= self._put_off:
            self.catch_up()

    def _ends_period(self) -> None:
        """A period that was not begun to be gone through is counted only."""
        if self._gone:
            self.catch_up()
            self._gone = 0
        else:
            self._whole += 1
            self._times.clear()
        self.at = 0
        if self._whole >= self._put_off:
            self.catch_up()

    def takes(self, kind: Kind, place: Place, parts: dict[str, Any], event: Event) -> list[Moment]:
        """The moments of an event that was not expected."""
        if self.script:
            self.pending()
            self._leave()
        moments, _ = self._take(event, time.perf_counter())
        self._note(Beat(kind, place, parts, event.detail, event.reading, event, moments))
        return moments

    def catch_up(self) -> None:
        """Goes through what waits."""
        self.pending()
        self.measured()
        if not self._whole and self.at == self._gone:
            return
        whole, self._whole = self._whole, 0
        gone, self._gone = self._gone, self.at
        times, self._times = self._times, []
        if whole:
            self._go_through(whole)
        for beat, at in zip(self.script[gone : self.at], times, strict=True):
            self._take(beat.event, at)

    def _go_through(self, periods: int) -> None:
        """Goes through whole periods: two of them, and where they have changed everything by the same and nothing was
        wrong, all the others at once."""
        steps = [strides.known(self._state, self._tally, self._timelines)]
        clean = True
        for _ in range(min(periods, 2)):
            clean = self._one_period() and clean
            steps.append(strides.known(self._state, self._tally, self._timelines))
        left = periods - 2
        if left > 0 and not (clean and self._skipped((steps[0], steps[1], steps[2]), left)):
            for _ in range(left):
                clean = self._one_period() and clean
        self._put_off = min(2 * self._put_off, SKIPPED) if clean else PUT_OFF

    def _one_period(self) -> bool:
        """Goes through a period. Returns whether nothing was wrong."""
        now, clean = time.perf_counter(), True
        for beat in self.script:
            clean = not self._take(beat.event, now)[1] and clean
        return clean

    def _skipped(self, steps: tuple[strides.Known, strides.Known, strides.Known], periods: int) -> bool:
        """Lets periods pass at once, unless something would be wrong in the last one, or does not change evenly."""
        try:
            state = strides.state_after(self._state, steps, periods - 1)
            if any(self._wrong(moment) for beat in self.script for moment in state.moments(beat.event)):
                return False
            strides.count_on(self._tally, self._timelines, steps, periods)
        except strides.Uneven:
            return False
        self._state = state
        return True

    def _take(self, event: Event, at: float) -> tuple[list[Moment], bool]:
        """The moments of an event, and whether anything was wrong."""
        moments = list(self._state.moments(event))
        self._tally.count(event, moments, self._state)
        if event.kind in TOLD:
            self._timelines.add(event, self._state, at)
        told = [self._judge(moment) for moment in moments]
        if event.kind in STEPS:
            self._stepped(event)
        return moments, any(told)

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
        self.catch_up()
        self.script, self.at, self._gone, self._same = [], 0, 0, 0
        self._period = list(begun)
        self.left()
