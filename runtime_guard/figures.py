"""Running figures of a long run in little memory: bounds, counts, and curves that get coarser as they grow."""

from __future__ import annotations

from dataclasses import dataclass, field

POINTS = 1024


@dataclass
class Figure:
    """A number that is measured again and again: its latest value, its bounds, how often it was measured."""

    last: float | None = None
    low: float = float("inf")
    high: float = float("-inf")
    count: int = 0

    def add(self, value: float | None, times: int = 1) -> None:
        """Takes a value that was measured so many times; None and NaN are not counted."""
        if value is None or value != value:
            return
        self.last = value
        self.low, self.high = min(self.low, value), max(self.high, value)
        self.count += times

    def as_json(self) -> dict[str, float] | None:
        """The figure for a report; None when nothing was measured."""
        if self.last is None:
            return None
        return {"last": self.last, "min": self.low, "max": self.high, "count": self.count}


@dataclass
class Curve:
    """A curve of at most `POINTS` points (x, y): when it is full, every second point is dropped."""

    points: list[tuple[int, float]] = field(default_factory=list)
    every: int = 1

    def add(self, x: int, y: float | None) -> None:
        """Takes a point, unless the curve has become so coarse that it falls between two. The last at an x counts."""
        if y is None or y != y or x % self.every:
            return
        if self.points and self.points[-1][0] == x:
            self.points.pop()
        self.points.append((x, y))
        if len(self.points) > POINTS:
            self.every *= 2
            self.points = [point for point in self.points if point[0] % self.every == 0]

    def reach(self, first: int, last: int, y: float | None) -> None:
        """Takes the same value at all points of a stretch: the ends of what is drawn of it."""
        begin, end = -(-first // self.every) * self.every, last // self.every * self.every
        for x in (begin, end) if begin <= end else ():
            self.add(x, y)
