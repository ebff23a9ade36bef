"""What a rule is. A rule is data: a file in a family's folder with a docstring (its page) and a `RULE`.

Nothing is declared that can be derived: the id is the file's name, the family its folder, the halves follow from what
it declares (`when`: both halves; `find`: static, and live where a constructor is seen; `observe`: live only).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Protocol

from amplint.catalogue.remedy import Remedy, Safety
from amplint.catalogue.versions import allows, assures
from amplint.protocol.cadence import Cadence
from amplint.protocol.events import STEPS, Event, Kind, Site
from amplint.protocol.facts import Fact
from amplint.protocol.ledger import FINITE, Grads, Ledger, Stage
from amplint.protocol.ranks import Sharing
from amplint.protocol.state import Moment
from amplint.protocol.total import Total
from amplint.protocol.window import Window


class Tier(Enum):
    """How a competent reviewer would take it."""

    ERROR = "wrong numbers, a crash, or no effect: the change would be blocked"
    WARNING = "worth saying, defensible either way"
    OPT_IN = "right but noisy: only when selected by its own id or ALL"


class Condition:
    """True of a moment: an event of one of the kinds, met in a ledger (or cadence) whose parts hold the given values.

    A part's value may be a single value, a collection of values, or a predicate. Parts of the ledger, its window and
    the scheduler's cadence are named directly: `Condition(Kind.CLIP, grads={Grads.SCALED})`,
    `Condition(STEPS, micro_steps=lambda n: n > 1)`. `also` sees the whole moment.
    """

    def __init__(
        self, kind: Kind | Collection[Kind], *, also: Callable[[Moment], bool] | None = None, **parts: Any
    ) -> None:
        self.kinds = frozenset({kind} if isinstance(kind, Kind) else kind)
        self.also = also
        self.of_scheduler = any(part in Cadence.__dataclass_fields__ for part in parts)
        wanted = {part: value if callable(value) else _among(value) for part, value in parts.items()}
        self.finite = tuple((part, test) for part, test in wanted.items() if part in FINITE)
        self.asks = frozenset(wanted)
        self.rest = tuple((_reader(part), test) for part, test in wanted.items() if part not in FINITE)

    def holds(self, moment: Moment) -> bool:
        """Whether this moment is the one described."""
        return self.possible(moment.event.kind, moment.of_scheduler, moment.ledger) and self.certain(moment)

    def possible(self, kind: Kind, of_scheduler: bool, ledger: Ledger) -> bool:
        """Whether the event is one of those described, and the parts of the ledger that have few values allow it."""
        if kind not in self.kinds or of_scheduler is not self.of_scheduler:
            return False
        return all(test(getattr(ledger, part)) for part, test in self.finite)

    def certain(self, moment: Moment) -> bool:
        """Whether a moment that is possible is the one described."""
        for read, test in self.rest:  # a loop, as this is asked at every event of a running process
            if not test(read(moment)):
                return False
        return self.also is None or self.also(moment)


def _among(value: Any) -> Callable[[Any], bool]:
    values = value if isinstance(value, (set, frozenset, list, tuple)) else {value}
    return lambda found: found in values


def _reader(part: str) -> Callable[[Moment], Any]:
    """How to read a named part of a moment. Raises TypeError for a name that nothing has."""
    if part in Window.__dataclass_fields__:
        return lambda moment: getattr(moment.ledger.window, part)
    if part in Ledger.__dataclass_fields__:
        return lambda moment: getattr(moment.ledger, part)
    if part in Sharing.__dataclass_fields__:
        return lambda moment: getattr(moment.ledger.sharing, part)
    if part in Cadence.__dataclass_fields__:
        return lambda moment: getattr(moment.cadence, part)
    if part in Total.__dataclass_fields__:
        return lambda moment: getattr(moment.total, part)
    raise TypeError(f"no part of the ledger, the window or the cadence is called {part!r}")


class Course(Protocol):
    """One run of a program: what happened, and what was decided."""

    @property
    def events(self) -> Sequence[Event]:
        """What happened, in order."""

    @property
    def choices(self) -> Mapping[str, bool]:
        """Its conditions, and how they were decided."""


@dataclass(frozen=True)
class Contrast:
    """A mistake that shows beside a run with other settings: in which of the runs, at which event; with the words for
    the message."""

    run: int
    event: Event
    mild: bool = False
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Rule:
    """One mistake.

    `message` says what happens to the numbers, `advice` what to do; both may quote `{names}` of `words` and of the
    event's detail. `when` are the conditions, any of which is the mistake. `place` is the earlier event that the
    finding points at (the event itself if None), `at_gate` the gate of that event, `at_maker` the constructor of its
    scaler. `because` are the earlier events
    that go into the witness, each with what happened there. `milder` says of a moment that it is only a warning.
    `find` judges facts of the text: the words for the message, or None. `observe` judges the numbers that were
    measured at a moment (`moment.event.reading`), in the same way; `reads` are the kinds of event that carry such
    numbers. `hides` are rules that this one makes
    superfluous in the same run, `explains` those that it makes superfluous at the same call, where other settings show
    them: the cause is one. `needs_every_path`: a path on which the event happens without the mistake refutes
    it (False: one path is enough). `once`: the first place in a file is enough. `since`: the library, and its version,
    that the advice needs: the rule speaks where every version that the project allows has it; `instead_since`: of a
    fact, where its advice needs less than the remedy does. `begins`: the library,
    and its version, from which on it is a mistake: the rule is silent where the project allows older ones only.
    `noisy_unrun`: without a run it is right but noisy, and opt-in. `refuted_by`: events that
    refute it wherever they happen, under any choice of run constants: the program has what the rule misses, and decides
    itself when it is needed. `remedied`: such an event that tells of the run that it happens in alone: where a setting
    has it happen, the program under its own defaults is judged all the same. `undecided`: of a moment that does not
    show the mistake, whether it may be made all the same. `compare` judges the runs of a program under all its
    settings, one beside the others, before anything runs. `of_skipped`: it speaks of batches too that are skipped
    before any training, by what their data are.
    `remedy`: what puts it right.
    """

    tier: Tier
    message: str
    advice: str
    when: tuple[Condition, ...] = ()
    place: Kind | None = None
    at_gate: bool = False
    at_maker: bool = False
    because: tuple[tuple[Kind, str], ...] = ()
    milder: Callable[[Moment], bool] | None = None
    words: Callable[[Moment], dict[str, str]] | None = None
    find: Callable[[Fact], dict[str, str] | None] | None = None
    observe: Callable[[Moment], dict[str, str] | None] | None = None
    reads: frozenset[Kind] = STEPS
    hides: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    needs_every_path: bool = True
    once: bool = False
    since: tuple[str, str] | None = None
    instead_since: Callable[[Fact], tuple[str, str]] | None = None
    begins: tuple[str, str] | None = None
    refuted_by: Callable[[Event], bool] | None = None
    remedied: Callable[[Event], bool] | None = None
    compare: Callable[[Sequence[Course]], Iterable[Contrast]] | None = None
    noisy_unrun: bool = False
    of_skipped: bool = False
    undecided: Callable[[Moment], bool] | None = None
    remedy: Remedy | None = None
    id: str = ""
    family: str = ""
    page: str = ""

    @property
    def reading_tier(self) -> Tier:
        """The tier of what is found in the text, without a run."""
        return Tier.OPT_IN if self.noisy_unrun else self.tier

    def speaks_of(self, fact: Fact, versions: Mapping[str, str]) -> bool:
        """Whether all versions that a project allows have what is to be written instead of what a fact is about."""
        return allows(versions, self.since if self.instead_since is None else self.instead_since(fact))

    def under(self, versions: Mapping[str, str]) -> Rule:
        """The rule for a project that declares these bounds: what needs a version is safe where one assures it, and
        only shown where an older one is allowed, or the library is not declared at all."""
        if self.remedy is None or self.since is None or assures(versions, self.since):
            return self
        known = self.since[0] in versions and allows(versions, self.since)
        safety = Safety.UNSAFE if known else Safety.DISPLAY
        return replace(self, remedy=replace(self.remedy, safety=safety))

    @property
    def needs_a_run(self) -> bool:
        """Whether only numbers that were measured show the mistake: the static half cannot see it."""
        return self.needs_numbers and self.compare is None

    @property
    def needs_numbers(self) -> bool:
        """Whether only numbers that were measured show the mistake in a run."""
        return self.observe is not None and not self.when and self.find is None

    def breaks(self, moment: Moment) -> bool:
        """Whether this moment shows the mistake."""
        return any(condition.holds(moment) for condition in self.when)

    def doubts(self, moment: Moment) -> bool:
        """Whether nobody knows if this moment shows the mistake: what the rule asks about is not known."""
        asked = [condition.asks for condition in self.when if moment.event.kind in condition.kinds]
        ledger = moment.ledger
        lost = {"grads"} if ledger.grads is Grads.UNKNOWN else set()
        lost |= {"stage"} if ledger.stage is Stage.UNKNOWN else set()
        if any(not lost.isdisjoint(one) for one in asked):
            return True
        return bool(asked) and self.undecided is not None and self.undecided(moment)

    def earlier(self, moment: Moment, kind: Kind) -> Event | None:
        """The latest event of a kind that led to the finding; the event of the moment itself if that came later."""
        same = moment.event.kind is kind or (kind is Kind.STEP and moment.event.kind in STEPS)
        if same and self.place not in (None, kind):
            return moment.event
        return moment.last.get(kind)

    def site(self, moment: Moment) -> Site:
        """The place that a finding points at: the event, an earlier one, or the gate of the optimizer's step."""
        event = moment.event
        if self.place is not None and event.kind is not self.place:
            event = moment.last.get(self.place, event)
        if self.at_maker and event.maker:
            return event.maker[-1]
        gate = event.gate or moment.ledger.window.gate
        return gate.site if self.at_gate and gate is not None else event.site
