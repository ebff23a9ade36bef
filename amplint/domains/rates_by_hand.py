"""Schedules that the program goes through by itself, as it sets the rate of its optimizer."""

from __future__ import annotations

from amplint.domains import scheduler_units
from amplint.flow import program as ir
from amplint.protocol.cadence import BY_HAND
from amplint.protocol.events import Kind
from amplint.state.run import Run
from amplint.state.values import Scheduler, Symbol, Value


def told(run: Run, position: Value, total: Value, text: str, at: ir.Span) -> None:
    """Notes where in a schedule of so many steps a rate is, which begins anew where nobody knows how it goes on.

    What goes on by longer strides keeps no pace."""
    if len(run.optimizers) != 1:
        return
    known = run.horizons.rates.get((at, text))
    ahead = _apart(known[0], position) if known is not None else None
    if ahead == 0:
        return
    made = known[1] if known is not None and ahead is not None and ahead > 0 else _made(run, total, text, at)
    run.horizons.rates[at, text] = position, made
    detail = {BY_HAND: "yes"}
    if run.sometimes or (ahead is not None and ahead > 1):
        detail["sometimes"] = "yes"
    run.emit(Kind.SCHEDULER_TOLD, at, made.optimizer, scheduler=made, detail=detail)


def _made(run: Run, total: Value, text: str, at: ir.Span) -> Scheduler:
    """The schedule, which begins where the rate is set."""
    made = Scheduler(run.name("schedule"), next(iter(run.optimizers.values())))
    made.said |= {BY_HAND: "yes", "schedule": BY_HAND}
    run.composed.append(([scheduler_units.counted(run, text, total)], made.said))
    scheduler_units.created(run, made, at)
    return made


def _apart(one: Value, other: Value) -> int | None:
    """How far a position is from another one, None where that is not known."""
    if isinstance(one, Symbol) and isinstance(other, Symbol):
        return other.offset - one.offset if one.text == other.text else None
    return int(other) - int(one) if isinstance(one, int) and isinstance(other, int) else None
