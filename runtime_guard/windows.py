"""The window of each optimizer, and the account of those that are over."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from amplint.protocol.readings import TermReading, WindowReading
from runtime_guard.figures import Curve, Figure
from runtime_guard.gradient_ledger import GradientLedger, Measure
from runtime_guard.late import Number, Parcel
from runtime_guard.products import error, multiplier, touched
from runtime_guard.terms import Term
from runtime_guard.ways import Outcome

WAITING_SETTLED = 64
PROBED_FIRST = 4
MOST_READINGS = 64
MOST_CLOSINGS = 64
SPARSE, RAREST = 16, 256
"""In a steady rhythm the ledger follows one window where it would follow so many, and at most one in so many."""


@dataclass
class WindowTerms:
    """The criteria of an open window, micro-step by micro-step.

    `alike`: what stands for the window as long as it may come again. `on_device`: some number is not on the host.
    """

    steps: list[list[Term]] = field(default_factory=list)
    latest: tuple[Number | None, Number | None] = (None, None)
    alike: list[tuple[Outcome, bool]] | None = field(default_factory=list)
    on_device: bool = False

    def add(self, outcome: Outcome, begins: bool) -> None:
        """Enters a backward. `begins`: it is the first of a micro-step."""
        if begins or not self.steps:
            self.steps.append([])
        self.steps[-1] += outcome.terms
        self.latest = outcome.carried, outcome.share
        self.on_device = self.on_device or not outcome.host
        if not outcome.kept:
            self.alike = None
        elif self.alike is not None:
            self.alike.append((outcome, begins))

    def divided(self, by: float) -> None:
        """What every criterion sent down was divided on its way."""
        self.steps = [[term.over(by) for term in step] for step in self.steps]
        self.alike = None

    @property
    def scaled(self) -> bool:
        """Whether anything in the window carries a loss scale."""
        return any(term.scaled for step in self.steps for term in step)

    @property
    def loss_scale(self) -> float | None:
        """The scale of the latest criterion that carries one, if the host knows it."""
        scales = [term.scale for step in self.steps for term in step if term.scaled]
        return scales[-1] if scales and isinstance(scales[-1], float) else None

    def reading(self, accumulation_steps: int | None = None) -> WindowReading:
        """The window's numbers as far as they are on the host."""
        terms = sorted(map(_reading, self._by_key().values()), key=_heaviness, reverse=True)
        return WindowReading(len(self.steps), tuple(terms), accumulation_steps)

    def _by_key(self) -> dict[Hashable, list[Term]]:
        found: dict[Hashable, list[Term]] = {}
        for step in self.steps:
            for term in step:
                found.setdefault(term.key, []).append(term)
        return found

    def numbers(self) -> list[Number]:
        """Every number of every term, in order, those that are None left out."""
        return [value for step in self.steps for term in step for value in term.numbers if value is not None]

    def with_numbers(self, numbers: Iterator[float]) -> WindowTerms:
        """The window with its numbers on the host."""
        return WindowTerms([[_filled(term, numbers) for term in step] for step in self.steps], alike=None)


def _filled(term: Term, numbers: Iterator[float]) -> Term:
    return term.with_numbers([None if value is None else next(numbers) for value in term.numbers])


def _reading(terms: list[Term]) -> TermReading:
    return TermReading(
        name=terms[0].name,
        weights=tuple(term.weight for term in terms),
        factors=tuple(term.reckoned for term in terms),
        counts=tuple(_host(term.share) if not term.elements.weighted else None for term in terms),
        rows=tuple(term.elements.rows for term in terms),
        tokens=any(term.elements.tokens for term in terms),
        divisors=tuple(term.divisors for term in terms),
    )


def _host(value: Number | None) -> float | None:
    return value if isinstance(value, float) else None


def _heaviness(term: TermReading) -> float:
    return sum(abs(weight or factor or 0.0) for weight, factor in zip(term.weights, term.factors, strict=True))


@dataclass
class Account:
    """One optimizer: its open window, and figures of those before. `several`: windows hold more than one loss."""

    name: str
    ledger: GradientLedger
    accumulation_steps: int | None = None
    window: WindowTerms = field(default_factory=WindowTerms)
    token: object = None
    number: int = 0
    measure: Measure | None = None
    reading: WindowReading | None = None
    latest: WindowReading | None = None
    settled: list[tuple[object, WindowReading]] = field(default_factory=list)
    lengths: Counter[int] = field(default_factory=Counter)
    skipped: int = 0
    several: bool = False
    figures: dict[str, Figure] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)
    touches: dict[str, Figure] = field(default_factory=dict)
    steady: bool = False
    before: int = 0
    closings: int = 1
    readings: dict[Hashable, WindowReading] = field(default_factory=dict)
    closed: deque[tuple[int, WindowReading]] = field(default_factory=lambda: deque(maxlen=MOST_CLOSINGS))

    @property
    def on_host(self) -> bool:
        """Whether the optimizer's parameters are on the CPU, where looking costs nothing but time."""
        optimizer = self.ledger.optimizer()
        parameters = optimizer.param_groups[0]["params"] if optimizer is not None and optimizer.param_groups else []
        return bool(parameters) and parameters[0].device.type == "cpu"

    def probed(self, every: int) -> bool:
        """Whether the present window's numbers may be fetched: on the CPU they always may."""
        return self.follows(every) or (every > 0 and self.on_host)

    def follows(self, every: int) -> bool:
        """Whether the ledger follows the present window: the first few, and then one in so many; of windows that are
        all alike, one in `SPARSE` times as many, and in no less than `RAREST`."""
        return every > 0 and (self.number < PROBED_FIRST or self.number % self._cycle(every) == 0)

    def unfollowed(self, every: int, most: int) -> int:
        """How many windows, at most so many, come before the next one that the ledger follows."""
        if self.closings > MOST_CLOSINGS:
            return 0
        return 0 if self.follows(every) else min(most, -self.number % self._cycle(every)) // self.closings

    def _cycle(self, every: int) -> int:
        return max(every * SPARSE, RAREST) if self.steady else every

    def becomes(self, steady: bool) -> None:
        """Notes whether windows like those since it was last noted come again. What has begun of a window that was
        not followed cannot be any more."""
        self.ledger.broken = self.ledger.broken or (self.steady and bool(self.window.steps))
        ended = self.number - self.before
        self.steady = steady and ended > 0
        self.closings = max(ended, 1) if len(self.closed) == ended else MOST_CLOSINGS + 1
        self.before = self.number
        if not steady:
            self.closed.clear()

    def repeated(self, periods: int, unread: int = 0) -> None:
        """Enters so many periods, each with windows like those of the one after which it was told to be steady, and so
        many of which the numbers were not read."""
        if not self.steady:
            return
        first, self.number = self.number, self.number + (periods + unread) * self.closings
        for length, reading in list(self.closed)[-self.closings :]:
            self.lengths[length] += periods + unread
            for name, value in entries(reading) if periods else ():
                self.figures.setdefault(name, Figure()).add(value, periods)
                self.curves.setdefault(name, Curve()).reach(first, self.number - 1, value)

    def at_step(self, token: object = None) -> WindowReading:
        """The reading of the window that a step ends. What is missing in it comes with `token`."""
        self.reading, self.token = self.read(), token
        return self.reading

    def read(self) -> WindowReading:
        """The numbers of the open window, as far as they are on the host; those of a window like it, if there was."""
        alike = self.window.alike
        if alike is None:
            return self.window.reading(self.accumulation_steps)
        key = tuple(alike)
        known = self.readings.get(key)
        if known is None:
            if len(self.readings) >= MOST_READINGS:
                self.readings.clear()
            known = self.readings[key] = self.window.reading(self.accumulation_steps)
        return known

    def forget(self) -> None:
        """Begins a window."""
        self.window = WindowTerms()
        self.measure = None
        self.reading = None
        self.token = None
        self.ledger.forget()

    def close(self, skipped: bool) -> Waiting:
        """What is left to enter of the window that is over."""
        if self.window.steps:  # a step on gradients of no backward pass ends no window
            self.lengths[len(self.window.steps)] += 1
        self.skipped += skipped
        if self.reading is not None:
            self.closed.append((len(self.window.steps), self.reading))
        measure = None if skipped else self.measure
        return Waiting(self, self.window, measure, self.token, self.number, self.reading)

    def note_norm(self, norm: float, scaled: bool) -> None:
        """Enters the norm of gradients; without the loss scale that they carry."""
        scale = self.window.loss_scale if scaled else 1.0
        self.note("gradient_norm", norm / scale if scale else None)

    def note(self, name: str, value: float | None) -> None:
        """Enters a value that belongs to the latest window."""
        self.take(name, value, self.number)

    def take(self, name: str, value: float | None, at: int) -> None:
        """Enters a value of a figure and of its curve."""
        self.figures.setdefault(name, Figure()).add(value)
        self.curves.setdefault(name, Curve()).add(at, value)


@dataclass
class Waiting:
    """A window that is over, its numbers perhaps still on their way."""

    account: Account
    window: WindowTerms
    measure: Measure | None
    token: object
    number: int
    reading: WindowReading | None = None
    parcel: Parcel | None = None
    numbers: list[float] = field(default_factory=list)

    def sent(self) -> Waiting:
        """The same, its numbers sent off."""
        measured = self.measure
        extra = [] if measured is None else [measured.a_r, measured.r_r, measured.a_a]
        touches = [] if measured is None else [factor for _, _, factor in measured.touches]
        window = self.window.numbers() if self.window.on_device or self.reading is None else []
        numbers = [*window, *extra, *touches]
        self.numbers = [value for value in numbers if isinstance(value, float)]
        self.parcel = Parcel(numbers) if len(self.numbers) < len(numbers) else None
        return self

    @property
    def arrived(self) -> bool:
        """Whether entering it will not wait."""
        return self.parcel is None or self.parcel.arrived

    def enter(self) -> None:
        """Enters the window into its account. Waits for what has not arrived."""
        values = iter(self.parcel.values() if self.parcel is not None else self.numbers)
        late = self.window.on_device
        reading = self.reading
        if late or reading is None:
            reading = self.window.with_numbers(values).reading(self.account.accumulation_steps)
        if late and self.token is not None and len(self.account.settled) < WAITING_SETTLED:
            self.account.settled.append((self.token, reading))
        self.account.latest = reading
        self.account.several = self.account.several or len(reading.terms) > 1
        self._of_reading(reading)
        if self.measure is not None:
            self._of_measure(self.measure, list(values))

    def _of_reading(self, reading: WindowReading) -> None:
        for name, value in entries(reading):
            self.account.take(name, value, self.number)

    def _of_measure(self, measure: Measure, values: list[float]) -> None:
        a_r, r_r, a_a, *factors = values
        self.account.take("multiplier_by_ledger", multiplier(a_r, r_r), self.number)
        self.account.take("gradient_error", error(a_r, r_r, a_a), self.number)
        places = [(what, step) for what, step, _ in measure.touches]
        for touch in touched(places, factors):
            self.account.touches.setdefault(touch.what, Figure()).add(touch.factor)


def entries(reading: WindowReading) -> tuple[tuple[str, float | None], ...]:
    """What a window enters of its criteria."""
    main = reading.main
    if main is None:
        return ()
    spread = main.spread if main.tokens and reading.micro_steps > 1 else None
    return (
        ("weight_sum_by_graph", main.weight_sum),
        ("weight_sum_by_arithmetic", main.factor_sum),
        ("token_weight_spread", spread),
    )
