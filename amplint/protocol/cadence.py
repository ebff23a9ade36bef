"""How often a scheduler steps, compared with the optimizer's steps and the micro-steps."""

from __future__ import annotations

from dataclasses import dataclass

from amplint.protocol.events import STEPS, Event, Kind, Site
from amplint.protocol.values import with_changes


@dataclass(frozen=True)
class Cadence:
    """The facts about one scheduler.

    `cadence_steps`: its own steps. `updates`: optimizer steps in all. `idle`: backward passes since its last step if
    the optimizer has not stepped since, else 0. `lead`: its steps before the first optimizer step. `pending`: it
    stepped after the last backward and before the optimizer did. `unit`: what its horizon counts (`updates`,
    `micro-batches`, `epochs`), None when not known. `horizon`: after how many of its own steps the schedule is over,
    None when not known.
    `first`: where it stepped first.
    """

    cadence_steps: int = 0
    updates: int = 0
    idle: int = 0
    stepped_since: bool = False
    lead: int = 0
    pending: bool = False
    filling: bool = False
    unit: str | None = None
    horizon: int | None = None
    first: tuple[Site, ...] = ()


def advance_cadence(before: Cadence, event: Event) -> Cadence:
    """The cadence after one event of this scheduler or of the optimizer that it drives."""
    if event.kind is Kind.SCHEDULER_STEP:
        return with_changes(
            before,
            cadence_steps=before.cadence_steps + 1,
            first=before.first or event.step_of_program,
            idle=0,
            stepped_since=False,
            lead=before.lead + (before.updates == 0),
            pending=before.filling,
        )
    if event.kind is Kind.BACKWARD:
        return with_changes(before, idle=0 if before.stepped_since else before.idle + 1, filling=True, pending=False)
    if event.kind in STEPS:
        return with_changes(
            before, updates=before.updates + 1, stepped_since=True, idle=0, filling=False, pending=False
        )
    if event.kind is Kind.OPAQUE:
        return with_changes(before, stepped_since=True, idle=0, filling=False, pending=False)
    if event.kind is Kind.CREATE:
        horizon = event.detail.get("horizon")
        return with_changes(before, unit=event.detail.get("unit"), horizon=int(horizon) if horizon else None)
    return before
