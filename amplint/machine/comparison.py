"""A run beside another one, which it is played to be told from: it ends where something else has happened."""

from __future__ import annotations

from amplint.protocol.events import Event
from amplint.state.run import Cut, Run


def compare(run: Run) -> None:
    """Raises Cut if something else has happened up to here than in the run beside, if there is one.

    Asked at the end of a micro-step: amid one, an event may be taken back that a gradient in a name will bring again.
    """
    if run.beside and not (len(run.events) <= len(run.beside) and all(map(_alike, run.events, run.beside))):
        raise Cut


def _alike(one: Event, other: Event) -> bool:
    """Whether two events are the same, as far as that cannot be settled later."""
    return one.kind is other.kind and one.site[:2] == other.site[:2] and one.optimizer == other.optimizer
