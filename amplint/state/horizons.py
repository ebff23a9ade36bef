"""What a run knows of the numbers that schedules and loops are bounded by."""

from __future__ import annotations

from dataclasses import dataclass, field

from amplint.flow import program as ir
from amplint.state.values import Scheduler, Value


@dataclass
class Horizons:
    """The numbers of a run.

    `warm`: what warm-ups count, with the details of the events that made their schedules. `multiplied`: schedules that
    are so many windows, and whether for each process. `shared_later`: epochs bound the run that were counted before a
    framework had its ranks share the loader. `totals`: per text of a number that is one less a part, the text of the
    total. `bars`: per end of a progress bar what had passed each time it moved on by one: how often it had, the
    micro-batches and the updates. `of_epochs`: the units of numbers of which the epochs of a loop are so many, counted
    after that sharing. `products`: per text of a known number that is so many epochs of some steps, the text of those
    of one. `shares`: per text of a number that is some part of another, the text of that one; `parts`: what enters a
    schedule besides its total, with the details of the event that made it. `decays`: what a schedule waits for each of
    its decays, with those details. `rates`: by where one is set by hand, and its total, the position that it was set by
    last, and its schedule. `shared`: the texts of the loaders that loops went through of which each rank is handed a
    share; `unshared`: of the others. `epoch`: the events between which the last loop ran whose end is that of an epoch.
    `escaped`: the keys of schedules that code which is not seen has got hold of.
    """

    warm: list[tuple[dict[str, str], dict[str, str]]] = field(default_factory=list)
    multiplied: list[tuple[str, bool, dict[str, str]]] = field(default_factory=list)
    shared_later: bool = False
    totals: dict[str, str] = field(default_factory=dict)
    bars: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)
    of_epochs: dict[str, set[str]] = field(default_factory=dict)
    products: dict[str, str] = field(default_factory=dict)
    shares: dict[str, str] = field(default_factory=dict)
    parts: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    decays: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    shared: set[str] = field(default_factory=set)
    unshared: set[str] = field(default_factory=set)
    epoch: tuple[int, int] = (0, 0)
    rates: dict[tuple[ir.Span, str], tuple[Value, Scheduler]] = field(default_factory=dict)
    escaped: set[str] = field(default_factory=set)
