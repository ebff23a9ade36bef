"""One window of a run as SVG, drawn from the events that really happened.

Each event stands in the lane of the object that it concerns, at its place in the order; the bands behind are the
micro-steps. The ribbon below says what the gradients hold after each event: it is the ledger of `amplint.protocol`,
fed with the same events. In a long window the micro-steps in the middle, which are all alike, are left out and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from amplint.protocol.events import Event, Kind, Site
from amplint.protocol.ledger import Grads, Ledger, advance
from runtime_guard.report.markup import Markup, element, joined

STEP, MARGIN, LANE, TOP = 61.0, 88.0, 44.0, 30.0
PILL, TALL = 58.0, 24.0
FIRST, LAST = 2, 1  # micro-steps of a long window that are drawn
LONGEST = 4  # a window with more micro-steps is long

LANES = ("loss", "gradients", "scaler", "optimizer", "schedule")
_LANE = {
    "forward": "loss",
    "scale": "loss",
    "backward": "loss",
    "unscale": "gradients",
    "clip": "gradients",
    "divide": "gradients",
    "zero_grad": "gradients",
    "scaler_step": "scaler",
    "update": "scaler",
    "step": "optimizer",
    "scheduler_step": "schedule",
}
_WORDS = {"scaler_step": "step", "scheduler_step": "step", "unscale": "unscale_"}
_RIBBON = {
    Grads.NONE: ("none", "no gradients"),
    Grads.PLAIN: ("plain", "true gradients"),
    Grads.SCALED: ("scaled", "gradients \u00d7 loss scale"),
    Grads.MIXED: ("mixed", "scaled and unscaled, mixed"),
    Grads.UNKNOWN: ("none", "not known"),
}
Row = Mapping[str, Any]


def timeline(window: Mapping[str, Any]) -> Markup:
    """The picture of one window, as wide as it has events; empty when it has none."""
    rows: Sequence[Row] = window.get("events", ())
    if not rows:
        return Markup()
    shown = _shown(rows)
    lanes = [lane for lane in LANES if any(row is not None and _lane(row) == lane for row, _ in shown)]
    width, height = MARGIN + STEP * len(shown) + 12, TOP + LANE * len(lanes) + 58
    parts = [*_bands(shown, height - 44), *_lanes(lanes, width)]
    for index, (row, left_out) in enumerate(shown):
        x = MARGIN + STEP * (index + 0.5)
        parts.append(_gap(x, left_out, height - 44) if row is None else _pill(row, x, lanes))
    parts += _ribbon(shown, _grads(rows), height - 38)
    svg = element("svg", *parts, width=width, height=height, view_box=f"0 0 {width:g} {height:g}", role="img")
    return element("div", svg, class_="scroll", tabindex="0")


def _lane(row: Row) -> str:
    return _LANE.get(str(row["event"]), "gradients")


def _shown(rows: Sequence[Row]) -> list[tuple[Row | None, int]]:
    """The events to draw; None, with the number of micro-steps left out, stands for the middle of a long window."""
    steps = sorted({int(row["micro_step"]) for row in rows})
    if len(steps) <= LONGEST:
        return [(row, 0) for row in rows]
    middle = set(steps[FIRST:-LAST])
    result: list[tuple[Row | None, int]] = []
    for row in rows:
        if int(row["micro_step"]) not in middle:
            result.append((row, 0))
        elif result and result[-1][0] is not None:
            result.append((None, len(middle)))
    return result


def _grads(rows: Sequence[Row]) -> dict[int, Grads]:
    """What the gradients hold after each event, by the event's identity."""
    ledger, scaled = Ledger(), False
    held: dict[int, Grads] = {}
    for row in rows:
        name = str(row["event"])
        kind = Kind.__members__.get(name.upper())
        if name == "scale":
            scaled = True
        elif kind is not None and kind is not Kind.SCHEDULER_STEP:
            carries = scaled if row.get("scaled") is None else bool(row["scaled"])
            ledger = advance(
                ledger, Event(kind, Site(str(row.get("file", "")), int(row.get("line") or 0)), scaled=carries)
            )
            scaled = scaled and kind is not Kind.BACKWARD
        held[id(row)] = ledger.grads
    return held


def _bands(shown: Sequence[tuple[Row | None, int]], height: float) -> list[Markup]:
    """A band behind each micro-step, every other one shaded, with its number on top."""
    drawn: list[Markup] = []
    numbers = [int(row["micro_step"]) if row is not None else 0 for row, _ in shown]
    start = 0
    for order, (number, group) in enumerate(groupby(numbers)):
        length = len(list(group))
        x, width = MARGIN + STEP * start, STEP * length
        start += length
        if number:
            drawn.append(element("rect", x=x, y=0.0, width=width, height=height, class_=f"band band-{order % 2}"))
            words = f"micro-step {number}" if length > 1 else str(number)
            drawn.append(element("text", words, x=x + width / 2, y=16.0, class_="tick", text_anchor="middle"))
    return drawn


def _lanes(lanes: Sequence[str], width: float) -> list[Markup]:
    drawn = []
    for index, lane in enumerate(lanes):
        y = TOP + LANE * (index + 0.5)
        drawn.append(element("line", x1=MARGIN, x2=width - 12, y1=y, y2=y, class_="grid"))
        drawn.append(element("text", lane, x=MARGIN - 14, y=y + 4, class_="lane", text_anchor="end"))
    return drawn


def _gap(x: float, left_out: int, height: float) -> Markup:
    words = element("text", f"{left_out} more", x=x, y=16.0, class_="tick", text_anchor="middle")
    dots = element("text", "\u22ef", x=x, y=height / 2 + 10, class_="gap", text_anchor="middle")
    return joined(words, dots)


def _pill(row: Row, x: float, lanes: Sequence[str]) -> Markup:
    """One event: its name, and on hover where it happened and with what numbers."""
    y = TOP + LANE * (lanes.index(_lane(row)) + 0.5)
    name = str(row["event"])
    place = f"{row.get('file', '?')}:{row.get('line', '?')}"
    told = [place, row.get("source"), row.get("detail"), row.get("violation")]
    title = element("title", "\n".join(str(part) for part in told if part))
    wrong = row.get("violation") is not None
    box = element(
        "rect", x=x - PILL / 2, y=y - TALL / 2, width=PILL, height=TALL, rx=TALL / 2, class_=f"pill {_lane(row)}"
    )
    words = element("text", _WORDS.get(name, name), x=x, y=y + 4, class_="event", text_anchor="middle")
    mark = element("text", "\u25b2", x=x, y=y + TALL, class_="mark", text_anchor="middle") if wrong else ""
    return element("g", title, box, words, mark, class_="wrong" if wrong else None)


def _ribbon(shown: Sequence[tuple[Row | None, int]], held: Mapping[int, Grads], y: float) -> list[Markup]:
    """What the gradients hold, from event to event; equal neighbours are one piece."""
    drawn = [element("text", ".grad holds", x=MARGIN - 14, y=y + 14, class_="lane", text_anchor="end")]
    states = [held[id(row)] if row is not None else None for row, _ in shown]
    filled = [state if state is not None else states[index - 1] for index, state in enumerate(states)]
    start = 0
    for state, group in groupby(filled):
        length = len(list(group))
        name, words = _RIBBON[state or Grads.NONE]
        x, width = MARGIN + STEP * (start + 0.5), STEP * length - 3
        if start + length == len(filled):
            width -= STEP / 2
        drawn.append(
            element("rect", element("title", words), x=x, y=y, width=width, height=20.0, rx=4.0, class_=f"held {name}")
        )
        if width > 6.4 * len(words):
            drawn.append(
                element("text", words, x=x + width / 2, y=y + 14, class_=f"holds {name}", text_anchor="middle")
            )
        start += length
    return drawn
