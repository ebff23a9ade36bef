"""What a scheduler's horizon counts: micro-batches, updates, epochs, or something that is not known.

A number says it by what it was computed from (`len(loader) // accum_steps`), by its name (`num_epochs`), or by what
the program does with it: what bounds a loop counts the turns of that loop.
"""

from __future__ import annotations

from amplint.dialects import DIALECTS
from amplint.dialects import vocabulary as words
from amplint.dialects.schedules import KIND, OF_FUNCTIONS, PER_EPOCH, SLOW, WAITS, Schedule
from amplint.dialects.vocabulary import within
from amplint.domains import schedule_meanings, units
from amplint.domains.schedule_meanings import LENGTH, NUMBERS, OF_A_RANK, UNSHARED
from amplint.domains.shown_counts import OF_BATCHES, UNTOLD, bound_text, of_one_process, part_of, runs_along_with, shown
from amplint.flow import program as ir
from amplint.protocol.cadence import (
    ALONE,
    AMISS,
    CONSTANT,
    EACH_AGAIN,
    EPOCHS,
    EPOCHS_AGAIN,
    HOLDS,
    METRIC,
    MICRO_BATCHES,
    MISSIZED,
    MOVES_BY,
    NO_CHANCE,
    OF_ALL_RANKS,
    OF_SAMPLES,
    OVER_EPOCHS,
    PER_PROCESS,
    REPEATED,
    SEVERAL,
    SHARED,
    SHARED_AGAIN,
    SHARED_LATER,
    UPDATES,
    WARM_UP,
    WHOLE_ONLY,
)
from amplint.protocol.events import Kind
from amplint.state import roles, truths
from amplint.state.counting import as_attribute, as_symbol, names_window, tags_of
from amplint.state.known_numbers import window_of
from amplint.state.run import Run
from amplint.state.values import (
    Function,
    Keywords,
    Loss,
    Optimizer,
    Public,
    Scheduler,
    Symbol,
    Value,
    last_part,
    text_of,
)

_SCHEDULES = {name: schedule for dialect in DIALECTS for name, schedule in dialect.schedules.items()}
_WARMS = within(words.WARMING)
_STEPS = within("steps iters iterations batches")
_PER_WINDOW = within(words.WINDOW, words.OPTIMIZER, words.UPDATING)


def begin(run: Run, made: Scheduler, name: str, args: list[Value], keywords: dict[str, Value]) -> None:
    """What the constructor of a public schedule makes of a scheduler."""
    short = name.rpartition(".")[2]
    schedule = _SCHEDULES.get(name, Schedule()).of_kind(_argument(args, keywords, KIND, 0))
    handed = _argument(args, keywords, "optimizer", schedule.optimizer)
    if isinstance(handed, Symbol):
        handed = roles.play(run, handed, "optimizer")
    made.parts = _parts(_argument(args, keywords, "schedulers", schedule.parts))
    made.optimizer = handed if isinstance(handed, Optimizer) else next((part.optimizer for part in made.parts), None)
    made.said |= {"schedule": "LambdaLR" if schedule.constant else short, **_meant(run, made, schedule, args, keywords)}
    if schedule.first is not None and schedule.holds(_argument(args, keywords, *schedule.first)):
        made.said[HOLDS] = "yes"
    factors = _argument(args, keywords, "lr_lambda", 1) if short in OF_FUNCTIONS else None
    made.factors = tuple(factors) if isinstance(factors, (list, tuple)) else (factors,)
    if schedule.constant or (factors is not None and all(map(_is_constant, made.factors))):
        made.said[CONSTANT] = "yes"
    if any(isinstance(factor, Symbol) for factor in made.factors):
        made.said["argument"] = "lr_lambda"  # what such a function counts is not known
    for argument, position in schedule.horizons.items():
        value = as_symbol(truths.resolve(run, _argument(args, keywords, argument, position)))
        if value is not None and "unit" not in made.said:
            _count(run, argument, value, made.said)
            if schedule.ends and WHOLE_ONLY in tags_of(value):
                made.said[AMISS] = WHOLE_ONLY
            if argument == PER_EPOCH and units.ALL_EPOCHS in tags_of(value):
                made.said[MISSIZED] = EPOCHS_AGAIN
            elif argument == PER_EPOCH and _is_many(value):
                made.said[SEVERAL] = "yes"
    if schedule.warm is not None:
        _warm(run, schedule.warm[0], _argument(args, keywords, *schedule.warm), made.said)


def _is_constant(factor: Value) -> bool:
    """Whether a function gives the same number whatever it is told."""
    body = factor.node.body if isinstance(factor, Function) else None
    return isinstance(body, ir.Const)


def _is_many(value: Value) -> bool:
    """Whether a value is a number that no loop agrees with by chance, or is called one of steps."""
    text = text_of(value)
    return int(text) >= NO_CHANCE if text.isdecimal() else _STEPS(last_part(as_attribute(text)))


def created(run: Run, made: Scheduler, at: ir.Span) -> None:
    """A scheduler has been made at a place."""
    if not run.handed:
        run.early.append(made.said)
    run.emit(Kind.CREATE, at, made.optimizer, scheduler=made, detail=made.said)
    if made.base:  # the step of a class of the program's own may be anything
        run.horizons.escaped.add(made.key)


def prepared(run: Run, made: Scheduler) -> None:
    """Notes that a scheduler steps, if a framework does that at times of its own, and whether once for each process."""
    if run.in_framework and "as_called" not in run.remarks:
        run.prepared.append(made.said)
        made.said |= {REPEATED: "yes"} if "repeated" in run.remarks else {}


_ANY = frozenset({"LRScheduler", "_LRScheduler"})
_CLASSES = frozenset(name.rpartition(".")[2] for name in _SCHEDULES) | _ANY


def is_one_of(value: Value, classes: tuple[Value, ...]) -> bool | None:
    """Whether a schedule is of one of some public classes, None where that is not known or others are asked for."""
    made = value.said.get("schedule") if isinstance(value, Scheduler) else None
    asked = {one.name.rpartition(".")[2] if isinstance(one, Public) else "" for one in classes}
    if made not in _CLASSES or not asked <= _CLASSES or (made == "ReduceLROnPlateau" and asked & _ANY):
        return None  # which derives from the others since torch 2.2 alone
    return made in asked or not asked.isdisjoint(_ANY)


def of_metric(made: Scheduler, args: list[Value], keywords: Keywords) -> dict[str, str]:
    """What is said of a step of a public schedule that is told a loss, or what the program calls a metric, and takes it
    for the number of an epoch."""
    told = any(isinstance(value, Loss) for value in args) or "metrics" in keywords
    kind = made.said.get("schedule", "") if not made.parts else ""
    return {METRIC: kind} if told and kind in _CLASSES and kind not in _WANTS_METRICS else {}


_WANTS_METRICS = frozenset({"ReduceLROnPlateau", "SequentialLR", *_ANY})


def counted(run: Run, argument: str, value: Value) -> dict[str, str]:
    """What one number counts that enters a schedule: in part perhaps not before the run is over."""
    detail: dict[str, str] = {}
    _count(run, argument, value, detail)
    return detail


def _argument(args: list[Value], keywords: dict[str, Value], name: str, position: int | None) -> Value:
    if name in keywords or position is None:
        return keywords.get(name)
    return args[position] if position < len(args) else None


def _parts(value: Value) -> tuple[Scheduler, ...]:
    found = value if isinstance(value, (list, tuple)) else ()
    return tuple(part for part in found if isinstance(part, Scheduler))


def _meant(
    run: Run, made: Scheduler, schedule: Schedule, args: list[Value], keywords: dict[str, Value]
) -> dict[str, str]:
    """What kind of step a schedule is meant for, where its numbers leave no doubt; loops may show it of others."""
    numbers: list[Value] = []
    if schedule.epochs is not None:
        value = _argument(args, keywords, schedule.epochs.name, schedule.epochs.position)
        value = schedule.epochs.default if value is None else value
        numbers = list(value) if isinstance(value, (list, tuple)) else [value]
        if numbers and all("epochs" in tags_of(one) for one in numbers):
            return {"meant": EPOCHS}
        if any(tags_of(one) for one in numbers):
            return {}  # it says itself what it counts: batches, or windows, or parts of them
        if schedule.epochs.factor is not None and _is_slow(_argument(args, keywords, "gamma", schedule.epochs.factor)):
            return {}
        run.horizons.decays += [(bound_text(one), made.said) for one in numbers if isinstance(one, Symbol)]
    meant = schedule.meant(numbers)
    return {"meant": meant, NUMBERS: " ".join(map(text_of, numbers))} if meant is not None else {}


def _is_slow(factor: Value) -> bool:
    """Whether a decay by a factor takes next to nothing away each time."""
    return isinstance(factor, (int, float)) and SLOW < factor < 1


def _count(run: Run, argument: str, value: Value, detail: dict[str, str]) -> None:
    """Notes what a horizon counts, as far as it is known when the scheduler is made; the rest is settled at the end."""
    tags = tags_of(value)
    detail["argument"] = argument
    if OF_A_RANK in tags and not tags & {"parts", "multiplied", "samples", SHARED_AGAIN}:
        detail[SHARED] = "yes"
    if loader := next((tag.removeprefix(UNSHARED) for tag in tags if tag.startswith(UNSHARED)), None):
        detail[UNSHARED] = loader
    if "shrunk" in tags:
        detail["shrunk"] = next(iter(run.batch_sizes)) if len(run.batch_sizes) == 1 else "the batch size"
    if SHARED_AGAIN in tags or ("batches" in tags and OF_ALL_RANKS in tags):
        detail[AMISS] = SHARED_AGAIN if SHARED_AGAIN in tags else OF_ALL_RANKS
    if EACH_AGAIN in tags and not tags & {"parts", "multiplied"}:
        detail[EACH_AGAIN] = "yes"
    if way := next((one for one in (EPOCHS_AGAIN, OVER_EPOCHS) if one in tags), None):
        detail[MISSIZED] = way
    elif {units.BATCHED, units.ALL_EPOCHS} <= tags and not tags & {"parts", "divided", "multiplied"}:
        detail[MISSIZED] = OF_SAMPLES
    if "divided" in tags and tags & {"batches", "samples"}:
        detail["unit"] = UPDATES
        detail |= {} if tags & {"parts", "samples"} else {"exact": "yes"}
        detail |= {OF_BATCHES: "yes"} if "exact" in detail and "batches" in tags and SHARED not in detail else {}
    elif tags & {"batches", "samples", "multiplied"}:
        detail["unit"] = MICRO_BATCHES
        if text := max(map(schedule_meanings.length_of, tags)):
            detail[LENGTH] = text
        if "batches" in tags and not tags & {"parts", "multiplied", SHARED_AGAIN}:
            run.unsettled.append((OF_BATCHES, detail))
        if tags == {"multiplied"} and isinstance(value, Symbol):
            _multiplied(run, value, detail)
    elif tags == {"epochs"}:
        detail |= {"unit": EPOCHS, "exact": "yes"}
        run.unsettled.append((bound_text(value), detail))
    elif isinstance(value, Symbol) and _PER_WINDOW(value.name):
        detail["unit"] = UPDATES
    elif isinstance(value, (Symbol, int)):
        run.unsettled.append((bound_text(value), detail))


def _warm(run: Run, argument: str, value: Value, detail: dict[str, str]) -> None:
    """Notes what a warm-up counts, where what it was computed from leaves no doubt."""
    tags = tags_of(value)
    if tags and not tags & {"parts", "multiplied", "samples", "shrunk", SHARED_AGAIN}:
        run.horizons.warm.append((counted(run, argument, value), detail))


def _multiplied(run: Run, value: Symbol, detail: dict[str, str]) -> None:
    """Notes what a horizon is a multiple of, if besides that it is but that many windows, perhaps for each process."""
    factors = value.text.split(" * ")
    rest = [one for one in factors if not (names_window(one) or units.names_processes(one))]
    if len(rest) == 1 and rest[0].replace(".", "").isidentifier():
        processes = any(units.names_processes(one) for one in factors)
        run.horizons.multiplied.append((rest[0], processes, detail))


def leaps(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`leaps(number, argument=end)`: the last event has moved a schedule on by so much, if that is more than 1 for
    certain; of its end it is told what that counts, once the run has shown it."""
    by, last = args[0], run.events[-1:]
    several = by > 1 if isinstance(by, int) else window_of(run, by) is not None
    for name, end in keywords.items() if several and last and last[0].kind is Kind.SCHEDULER_STEP else ():
        last[0].detail.update({MOVES_BY: text_of(by), "argument": name})
        run.unsettled.append((bound_text(end), last[0].detail))
    return None


def settle(run: Run) -> None:
    """Says what the horizons count of which the run has shown it."""
    schedule_meanings.settle(run)
    told = _of_unsettled(run)
    for totals, said in run.composed:
        units = {total["unit"] for total in totals if "unit" in total}
        if len(units) == 1 and all(total.get("unit") in units for total in totals):
            said |= totals[0]
            told += [said] if any(total is one for total in totals for one in told) else []
        else:
            said["unit"] = next((unit for unit in (MICRO_BATCHES, EPOCHS, UPDATES) if unit in units), UNTOLD)
    _of_parts(run)
    _of_decays(run)
    _of_prepared(run, told)
    _of_unshared(run)
    schedule_meanings.unsettle(run)
    for warm, detail in run.horizons.warm:
        prepared = any(detail is one for one in run.prepared)
        if "exact" in warm and (not prepared or warm["unit"] == EPOCHS):
            detail[WARM_UP] = warm["unit"]
    for text, processes, detail in run.horizons.multiplied:
        prepared = any(detail is one for one in run.prepared)
        if runs_along_with(run, text) == {UPDATES}:
            detail |= {"exact": "yes"} | ({"begins": WAITS} if prepared else {})
            detail |= {ALONE: "yes"} if REPEATED in detail and not processes else {}


def _of_unsettled(run: Run) -> list[dict[str, str]]:
    """Says it of single horizons. Those that no number of processes takes a share of."""
    told: list[dict[str, str]] = []
    for text, detail in run.unsettled:
        unit = shown(run, text)
        told += [detail] if of_one_process(run, text) else []
        if unit is not None and (text == OF_BATCHES or unit != detail.get("unit")):
            detail["unit"] = unit
            if text.isdecimal() and int(text) < NO_CHANCE:
                detail.pop("exact", None)
            else:
                detail["exact"] = "yes"
        told += [detail] if _is_end_in_epochs(text, detail) else []
    return told


def _of_decays(run: Run) -> None:
    """Says of schedules that they are meant for one step per epoch, where they wait for some part of all epochs."""
    for text, said in run.horizons.decays:
        if part_of(run, run.horizons.totals.get(text, text)) == EPOCHS:
            said.setdefault("meant", EPOCHS)


def _of_parts(run: Run) -> None:
    """Says of schedules of which nothing else is known that a number of theirs, a warm-up perhaps, counts
    micro-batches."""
    for text, said in (*run.unsettled, *run.horizons.parts):
        if "unit" not in said and part_of(run, text) == MICRO_BATCHES:
            said["unit"] = MICRO_BATCHES


def _of_prepared(run: Run, told: list[dict[str, str]]) -> None:
    """Says it of schedules that a framework steps, once for each process."""
    for detail in run.prepared:
        if REPEATED in detail and EACH_AGAIN in detail and run.horizons.shared and not run.horizons.unshared:
            detail[AMISS] = EACH_AGAIN
        elif REPEATED in detail and (SHARED in detail or any(detail is one for one in told)):
            detail[AMISS] = PER_PROCESS
        early = any(detail is one for one in run.early)  # before the ranks share the loader: the steps of all of them
        if detail.get("unit") == MICRO_BATCHES and early:
            detail |= {"begins": WAITS}
        elif early and OF_BATCHES in detail:
            continue
        elif detail.get("unit") != EPOCHS:
            detail.pop("exact", None)  # how often a framework steps it depends on its settings, and on the ranks


def _of_unshared(run: Run) -> None:
    """Says it of schedules that the program steps itself, over a loader of which each rank has a share by then."""
    for said in (event.detail for event in run.events if event.kind is Kind.CREATE):
        loader = said.pop(UNSHARED, None)
        if loader in run.horizons.shared - run.horizons.unshared and not any(said is one for one in run.prepared):
            said[AMISS] = SHARED_LATER


def _is_end_in_epochs(text: str, detail: dict[str, str]) -> bool:
    """Whether a number is known to count epochs, of which no rank has a share, and is no warm-up."""
    return detail.get("unit") == EPOCHS and "exact" in detail and not _WARMS(text.partition(" - ")[0])
