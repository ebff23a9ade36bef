"""What the loops of a run show that a number counts: it bounds them, or is compared with what is counted in them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from amplint.dialects.vocabulary import within
from amplint.domains import schedule_meanings, units
from amplint.protocol.cadence import EPOCHS, MICRO_BATCHES, NO_CHANCE, UNITS, UPDATES
from amplint.protocol.events import Kind
from amplint.protocol.values import with_changes
from amplint.state.counting import names_epochs, tags_of
from amplint.state.known_numbers import number
from amplint.state.run import Run
from amplint.state.values import Loss, Stream, Symbol, Value, text_of

OF_BATCHES = "the loader's batches"
"""By this text goes what one turn of a loop over a loader counts."""
UNTOLD = "a total of which nobody can tell what it counts"
"""Stands for the unit of a schedule of the program's own that is over after some number."""


def bound_text(value: Value) -> str:
    """What a bound goes by: its text, of a number the number."""
    return str(int(value)) if isinstance(value, int) else text_of(value)


def of_one_process(run: Run, text: str) -> bool:
    """Whether the loops of the run show that a number counts the micro-batches or updates of a process.

    What only keeps a count from going on shows nothing where epochs may be over before, nor does a progress bar.
    """
    if text == OF_BATCHES or (text.isdecimal() and int(text) < NO_CHANCE):
        return False
    horizons = run.horizons
    found = run.turns.get(text, set()) or (set[str]() if horizons.shared_later else _compared(run, text))
    if found:
        return found <= {MICRO_BATCHES, UPDATES}
    drawn = set[str]() if horizons.shared_later else _running_along(horizons.bars.get(text, []))
    due = {UPDATES, MICRO_BATCHES} if run.passed[0] == run.passed[1] else {UPDATES}
    return not due.isdisjoint(drawn | horizons.of_epochs.get(text, set()))


def shown(run: Run, text: str) -> str | None:
    """What the loops of the run show that a number counts: the turns of one that it bounds, over all epochs perhaps."""
    shown, factors = runs_along_with(run, text), text.split(" * ")
    if not shown and len(factors) > 1:
        every = [runs_along_with(run, one) or {EPOCHS if names_epochs(one) else UNTOLD} for one in factors]
        shown = set[str]().union(*every) - {EPOCHS}
    elif not shown and text in run.horizons.products:
        shown = runs_along_with(run, run.horizons.products[text])
    return next(iter(shown)) if len(shown) == 1 and shown <= set(UNITS) else None


def runs_along_with(run: Run, text: str) -> set[str]:
    """The units that a number counts as far as loops or comparisons show it, or the total that it is a part of."""
    found = run.turns.get(text, set()) | _compared(run, text)
    return found if found or text not in run.horizons.totals else runs_along_with(run, run.horizons.totals[text])


def _compared(run: Run, text: str) -> set[str]:
    """What the counter counts that a symbol is compared with, if it runs along with one thing only."""
    return _running_along(run.compared.get(text, []))


def _running_along(seen: Sequence[tuple[int, int, int]]) -> set[str]:
    """The units that a counter runs along with. `seen`: its values, the micro-batches and the updates of each time."""
    found = set()
    for place, unit in ((1, MICRO_BATCHES), (2, UPDATES)):
        if len({row[place] for row in seen}) > 2 and len({row[0] - row[place] for row in seen}) == 1:
            found.add(unit)
    return found


def compare(run: Run, left: Value, right: Value) -> None:
    """Notes that a counter is compared with a symbol."""
    counter, bound = (left, right) if isinstance(right, Symbol) else (right, left)
    value = number(run, counter)
    schedule_meanings.compare(run, left, right)
    if isinstance(bound, Symbol) and isinstance(value, int):
        micro, updates, _ = run.passed
        run.compared.setdefault(text_of(bound), []).append((int(value), micro, updates))


def computed(run: Run, op: str, made: Value, left: Value, right: Value) -> None:
    """Notes of a number that is computed before the loop that it counts what another one does: a total less a part of
    it, or a share of one."""
    if run.in_batches:
        return
    if op == "*":
        _share(run, made, left, right)
        _product(run, made, left, right)
    elif op == "-":
        _less(run, made, left, right)
    elif op in ("/", "//") and isinstance(made, Symbol) and isinstance(left, Symbol) and type(right) is int:
        run.horizons.shares[made.text] = bound_text(left)


def _less(run: Run, made: Value, total: Value, part: Value) -> None:
    """Notes that a number is a total less a part of it, a warm-up perhaps.

    Of numbers that are known it has to be most of the total: the rest may be what the total has too many of.
    """
    if not isinstance(total, (Symbol, int)):
        return
    most = not isinstance(total, int) or not isinstance(part, int) or NO_CHANCE <= 2 * part <= total
    if most:
        run.horizons.totals[bound_text(made)] = bound_text(total)


def _product(run: Run, made: Value, *factors: Value) -> None:
    """Notes that a known number is so many epochs of some number of steps, unless that is one by chance."""
    rest = [one for one in factors if "epochs" not in tags_of(one)]
    if isinstance(made, int) and len(rest) == 1 and isinstance(rest[0], int) and rest[0] >= NO_CHANCE:
        run.horizons.products[bound_text(made)] = bound_text(rest[0])


def _share(run: Run, made: Value, *factors: Value) -> None:
    """Notes that a number is a part of a total, by a share that says so: below 1, or by its name."""
    rest = [one for one in factors if not _is_share(one)]
    if len(rest) == 1 and isinstance(rest[0], (Symbol, int)) and isinstance(made, Symbol):
        run.horizons.shares[made.text] = bound_text(rest[0])


def _is_share(value: Value) -> bool:
    if isinstance(value, Symbol):
        return _SHARE(value.name)
    return isinstance(value, (float, Fraction)) and 0 < value < 1


_SHARE = within("percent percentage pct ratio fraction frac proportion portion share")


def part_of(run: Run, text: str) -> str | None:
    """What the loops of the run show that a number counts, or the total that it is a share of."""
    return shown(run, text) or (shown(run, run.horizons.shares[text]) if text in run.horizons.shares else None)


def at_least_one(run: Run, made: Symbol, values: list[Value]) -> Symbol:
    """A number that is kept from falling below 1 counts what it would without."""
    rest = [value for value in values if not (type(value) is int and value <= 1)]
    if len(values) != 2 or len(rest) != 1 or not isinstance(rest[0], Symbol):
        return made
    run.horizons.totals[made.text] = bound_text(rest[0])
    return with_changes(made, tags=rest[0].tags)


_BATCHES = frozenset({"batches", "parts", "divided", "multiplied", "shrunk"})
"""What a number of a loader's batches may be besides."""


def turn(run: Run, stream: Stream, before: tuple[int, ...], first: int) -> None:
    """Notes what has passed in one turn of a loop: over a range by its bound, over a loader by its batches. `before`,
    `first`: what had passed and the events, as it began."""
    ones = [unit for unit, now, then in zip(UNITS, run.passed, before, strict=True) if now - then == 1]
    if run.passed[0] == before[0]:
        return  # nothing was back-propagated: a batch that was passed over
    unit = ones[0] if ones and not (ones[0] == EPOCHS and _trains_beside(run, first)) else "several"
    bound = stream.bound if stream.bound is not None else stream.length
    run.horizons.shared_later |= units.EPOCHS_BEFORE in tags_of(bound)
    for tag in tags_of(bound):
        if text := units.divided_by_an_epoch(tag):
            run.horizons.of_epochs.setdefault(text, set()).add(units.unit_of_epochs(tags_of(bound)))
    if bound is not None:
        run.turns.setdefault(bound_text(bound), set()).add(unit)
    if stream.batches or tags_of(stream.length) & _BATCHES == {"batches"}:
        run.turns.setdefault(OF_BATCHES, set()).add(unit)


def _trains_beside(run: Run, first: int) -> bool:
    """Whether more goes back in a turn than in the loop that looked like an epoch in it: a critic, say."""
    begins, ends = run.horizons.epoch
    return any(event.kind is Kind.BACKWARD for event in (*run.events[first:begins], *run.events[ends:]))


def advance(run: Run, bar: Stream, args: Sequence[Value]) -> None:
    """Notes that a progress bar moves on by one: what its end counts runs along with what has passed."""
    if bar.bound is not None and (not args or args[0] == 1):
        seen = run.horizons.bars.setdefault(bound_text(bar.bound), [])
        micro, updates, _ = run.passed
        seen.append((len(seen) + 1, micro, updates))


def of_the_batch(run: Run, args: list[Value]) -> bool:
    """Whether a scheduler is handed the loss of one of a loader's batches: a metric, which `ReduceLROnPlateau` alone
    takes."""
    of_batch = any(
        isinstance(value, Loss) or (isinstance(value, Symbol) and value.text == "loss.item()") for value in args
    )
    return of_batch and run.in_batches > 0 and OF_BATCHES in run.turns
