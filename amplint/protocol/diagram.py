"""The tables of the ledger as pictures: mermaid `stateDiagram-v2` text, for people.

A picture shows what changes. An event that leaves a state as it was has no arrow there.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from amplint.protocol.ledger import TABLES, Feed, Ledger

PARTS = ("grads", "stage")  # the parts of the ledger that have more than two values
_MARGIN = "    "


def diagram(part: str) -> str:
    """The states of one part of the ledger and the events that lead from one to another, as mermaid text.

    Raises ValueError for a part that is a plain yes or no, or that no table describes.
    """
    if part not in PARTS:
        raise ValueError(f"no diagram of {part!r}: choose one of {', '.join(PARTS)}")
    start: Enum = getattr(Ledger(), part)
    states = list(type(start))
    lines = [f'state "{state.value}" as {_name(state)}' for state in states]
    lines.append(f"[*] --> {_name(start)}")
    lines.extend(_arrows(part, states))
    return "\n".join(["stateDiagram-v2", *(_MARGIN + line for line in lines)])


def _arrows(part: str, states: list[Enum]) -> Iterator[str]:
    """One arrow for each pair of states, labelled with every event that leads along it."""
    for before in states:
        for after in states:
            if after is not before and (feeds := _feeds(part, before, after)):
                yield f"{_name(before)} --> {_name(after)}: {' / '.join(feed.value for feed in feeds)}"


def _feeds(part: str, before: Enum, after: Enum) -> list[Feed]:
    """The events that turn `before` into `after`, in the order in which `Feed` declares them."""
    return [feed for feed in Feed if TABLES[part].get(feed, {}).get(before) is after]


def _name(state: Enum) -> str:
    return state.name.lower()
