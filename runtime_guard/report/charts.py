"""Curves of a run as SVG: one chart for each quantity, one line for each optimizer or scaler.

A loss scale is drawn in steps on a logarithmic axis (it doubles and halves), everything else on a linear one. A value
that is not finite breaks the line, and is marked on the upper edge. Widths and heights are in pixels of the SVG.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log2, log10

from runtime_guard.report.curves import Curves
from runtime_guard.report.markup import Markup, element, joined, number

WIDTH, HEIGHT = 460.0, 190.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 14.0, 12.0, 26.0
COLOURS = 6  # how many series are told apart by colour

Point = tuple[float, float]


@dataclass(frozen=True)
class Quantity:
    """What a chart shows. `reference` is the value that it has when all is well."""

    title: str
    about: str
    logarithmic: bool = False
    stepped: bool = False
    whole: bool = False
    reference: float | None = None


QUANTITIES: Mapping[str, Quantity] = {
    "loss_scale": Quantity("Loss scale", "doubles after many good steps, halves after an overflow", True, True),
    "effective_learning_rate": Quantity(
        "Effective learning rate", "as it is set, times the weight of the window's losses"
    ),
    "window_weight": Quantity("Weight of a window", "1: its gradient is that of the equivalent batch", reference=1.0),
    "gradient_norm": Quantity("Gradient norm", "of true gradients, before any clip"),
    "skipped_steps": Quantity("Skipped steps", "updates that the scaler skipped so far", stepped=True, whole=True),
    "gradient_error": Quantity("Gradient error", "relative distance from the gradient of the equivalent batch"),
    "token_weight_spread": Quantity(
        "Token weight spread", "the heaviest token of a window over the lightest", reference=1.0
    ),
}


@dataclass(frozen=True)
class Axis:
    """A range of values laid onto a range of pixels."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value."""
        low, high, value = (log2(x) if self.logarithmic else x for x in (self.low, self.high, value))
        return self.start + (value - low) / ((high - low) or 1.0) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """About four round values within the range."""
        if self.logarithmic:
            first, last = ceil(log2(self.low) - 1e-9), floor(log2(self.high) + 1e-9)
            stride = max(1, ceil((last - first) / 4))
            return [2.0**power for power in range(first, last + 1, stride)]
        raw = (self.high - self.low) / 4 or 1.0
        size = 10.0 ** floor(log10(raw))
        stride_ = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw * 0.999)
        first = ceil(self.low / stride_ - 1e-9)
        return [index * stride_ for index in range(first, floor(self.high / stride_ + 1e-9) + 1)]


_GROUPS: Mapping[str, Mapping[str, str]] = {
    "effective_learning_rate": {"effective_learning_rate": "effective", "learning_rate": "as set"},
    "window_weight": {
        "weight_sum_by_graph": "by the graph",
        "weight_sum_by_arithmetic": "by arithmetic",
        "multiplier_by_ledger": "by the ledger",
    },
}  # curves that belong into one picture


def charts(curves: Curves) -> Markup:
    """A figure for each quantity that was read, in the order of `QUANTITIES`; quantities of other names come last."""
    curves = _grouped(curves)
    names = [*(name for name in QUANTITIES if name in curves), *(name for name in curves if name not in QUANTITIES)]
    return joined(*(_figure(_quantity(name), curves[name]) for name in names))


def _grouped(curves: Curves) -> Curves:
    """The curves with those that belong into one picture under one name; what an owner has alone keeps its name."""
    result = {name: dict(owners) for name, owners in curves.items()}
    for group, members in _GROUPS.items():
        found = {member: result.pop(member) for member in members if member in result}
        if found:
            result[group] = {
                f"{owner}, {members[member]}": points
                for member, owners in found.items()
                for owner, points in owners.items()
            }
    return result


def _quantity(name: str) -> Quantity:
    return QUANTITIES.get(name) or Quantity(name.replace("_", " ").capitalize(), "")


def _figure(quantity: Quantity, series: Mapping[str, list[Point]]) -> Markup:
    last = [points[-1][1] for points in series.values()]
    latest = element("span", f"{number(last[0])} at the end", class_="latest") if len(last) == 1 else ""
    caption = element("figcaption", element("b", quantity.title), " ", latest, element("br"), quantity.about)
    return element("figure", caption, _svg(quantity, series), _legend(list(series)), class_="chart")


def _legend(names: list[str]) -> Markup:
    if len(names) < 2:
        return Markup()
    keys = (
        element("span", element("i", class_=f"key fill-{index % COLOURS}"), name) for index, name in enumerate(names)
    )
    return element("p", *keys, class_="legend")


def _svg(quantity: Quantity, series: Mapping[str, list[Point]]) -> Markup:
    along, up = _axes(quantity, [point for points in series.values() for point in points])
    lines = [_line(points, along, up, index, quantity) for index, points in enumerate(series.values())]
    spots = [_spot(name, point, along, up) for name, points in series.items() for point in points]
    return element(
        "svg",
        *_grid(along, up, quantity.whole),
        *_reference(quantity, up),
        *lines,
        *spots,
        view_box=f"0 0 {WIDTH:g} {HEIGHT:g}",
        role="img",
        aria_label=quantity.title,
    )


def _axes(quantity: Quantity, points: Sequence[Point]) -> tuple[Axis, Axis]:
    xs = [x for x, _ in points]
    ys = [y for _, y in points if isfinite(y) and (y > 0 or not quantity.logarithmic)]
    if quantity.reference is not None:
        ys.append(quantity.reference)
    low, high = (min(ys), max(ys)) if ys else (1.0, 1.0)
    if quantity.logarithmic:
        low, high = 2.0 ** floor(log2(low) - 0.01), 2.0 ** ceil(log2(high) + 0.01)
    else:
        low = min(low, 0.0) if low >= 0 and low < 0.7 * high else low
        room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
        low, high = (low if low == 0 else low - room), high + room
    along = Axis(min(xs), max(xs), LEFT, WIDTH - RIGHT)
    return along, Axis(low, high, HEIGHT - BOTTOM, TOP, quantity.logarithmic)


def _grid(along: Axis, up: Axis, whole: bool) -> list[Markup]:
    drawn = [element("text", "window", x=LEFT - 7, y=HEIGHT - 8, class_="tick", text_anchor="end")]
    for value in (tick for tick in up.ticks() if not whole or tick == int(tick)):
        y = up.at(value)
        drawn.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"))
        drawn.append(element("text", number(value), x=LEFT - 7, y=y + 3.5, class_="tick", text_anchor="end"))
    for value in along.ticks():
        if value == int(value):
            drawn.append(
                element("text", number(value), x=along.at(value), y=HEIGHT - 8, class_="tick", text_anchor="middle")
            )
    return drawn


def _reference(quantity: Quantity, up: Axis) -> list[Markup]:
    if quantity.reference is None:
        return []
    y = up.at(quantity.reference)
    return [element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="reference")]


def _line(points: Sequence[Point], along: Axis, up: Axis, index: int, quantity: Quantity) -> Markup:
    """The curve of one series; it breaks where a value cannot be drawn, and a single value is a dot."""
    commands: list[str] = []
    pen = False
    for x, y in points:
        if not isfinite(y) or (quantity.logarithmic and y <= 0):
            pen = False
            continue
        at_x, at_y = along.at(x), up.at(y)
        if quantity.stepped and pen:
            commands.append(f"H{at_x:.1f}")
        commands.append(f"{'L' if pen else 'M'}{at_x:.1f} {at_y:.1f}")
        pen = True
    shape = " ".join(commands)
    if len(points) == 1 and commands:
        return element(
            "circle", cx=along.at(points[0][0]), cy=up.at(points[0][1]), r=3.0, class_=f"fill-{index % COLOURS}"
        )
    return element("path", d=shape, class_=f"curve line-{index % COLOURS}")


def _spot(name: str, point: Point, along: Axis, up: Axis) -> Markup:
    """Where the pointer rests, the value is shown. What cannot be drawn is marked on the upper edge."""
    x, y = point
    drawable = isfinite(y) and (y > 0 or not up.logarithmic)
    words = element("title", f"{name}, window {number(x)}: {number(y)}")
    place = up.at(y) if drawable else TOP
    return element(
        "circle", words, cx=along.at(x), cy=place, r=5.0 if drawable else 3.0, class_="spot" if drawable else "broken"
    )
