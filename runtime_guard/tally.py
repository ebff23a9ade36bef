"""What was seen, counted: windows, micro-steps, weights, steps of schedulers. This is what a report can confirm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from amplint.protocol.events import STEPS, Event, Kind
from amplint.protocol.state import Moment, State
from amplint.protocol.window import Window


@dataclass
class Tally:
    """Counts over the whole run.

    `kinds`: those of the events that came. `lengths` maps the micro-steps of a window to the number of such windows.
    `weights` are the sums of loss weights of the windows in which they are known: lowest, highest, how many; in
    `unread` of these they were not looked at, because they have been the same for long. `followed`, `unfollowed`: by
    optimizer, the steps on gradients that a backward pass has left, and those on gradients of unknown origin. `passes`,
    `used`, `erased`, `pending`: by optimizer, its backward passes, those that a step has used, those that were erased
    before any step, and those that wait for one; `since`: those since the last step, `most`: between two steps at most.
    `inner`: the optimizers that another one lets step.
    """

    events: int = 0
    kinds: set[Kind] = field(default_factory=set)
    windows: int = 0
    lengths: Counter[int] = field(default_factory=Counter)
    weights: tuple[float, float, int] | None = None
    clips: Counter[str] = field(default_factory=Counter)
    optimizers: dict[str, str] = field(default_factory=dict)
    scalers: dict[str, list[int]] = field(default_factory=dict)
    schedulers: dict[str, tuple[str, int]] = field(default_factory=dict)
    not_covered: dict[str, None] = field(default_factory=dict)
    unscales: int = 0
    steps: int = 0
    followed: Counter[str] = field(default_factory=Counter)
    unfollowed: Counter[str] = field(default_factory=Counter)
    unread: int = 0
    passes: Counter[str] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    erased: Counter[str] = field(default_factory=Counter)
    pending: Counter[str] = field(default_factory=Counter)
    since: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    inner: set[str] = field(default_factory=set)

    def count(self, event: Event, moments: Sequence[Moment], state: State) -> None:
        """Takes one event into account, after the protocol has. `moments`: what it met."""
        kind = event.kind
        self.events += 1
        self.kinds.add(kind)
        if kind in _OF_PASSES and event.scheduler is None:
            self._account(event)
        if kind is Kind.UNSCALE:
            self.unscales += 1
        elif kind in STEPS and event.scheduler is None and moments:
            self._step(event, moments[0].ledger.window)
        elif kind is Kind.CLIP and event.optimizer is not None and "meets" not in event.detail:
            self.clips[state.ledgers[event.optimizer].grads.value] += 1

    def _account(self, event: Event) -> None:
        """What becomes of the backward passes of an optimizer. What is erased but for its last ones is told once more
        afterwards."""
        name, kind = event.optimizer or "", event.kind
        if kind is Kind.BACKWARD:
            for counts in (self.passes, self.pending, self.since):
                counts[name] += 1
        elif kind in STEPS:
            self.used[name] += self.pending[name]
            self.most[name] = max(self.most[name], self.since[name])
            self.pending[name] = self.since[name] = 0
        else:
            kept = int(event.detail.get("but", 0))
            self.erased[name] += self.pending[name] - kept
            self.passes[name] -= kept
            self.since[name] -= kept
            self.pending[name] = 0

    def _step(self, event: Event, window: Window) -> None:
        self.steps += 1
        if window.micro_steps:
            self.followed[event.optimizer or ""] += 1
            self._window(window)
        elif "unfollowed" in event.detail:
            self.unfollowed[event.optimizer or ""] += 1

    def _window(self, window: Window) -> None:
        self.windows += 1
        self.lengths[window.micro_steps] += 1
        if (highest := weight_of(window)) is not None:
            low, high, known = self.weights or (highest, highest, 0)
            self.weights = (min(low, highest), max(high, highest), known + 1)


_OF_PASSES = frozenset({Kind.BACKWARD, Kind.ZERO_GRAD, *STEPS})


def weight_of(window: Window) -> float | None:
    """The sum of the loss weights of a window: the highest one, if those of all its losses are known."""
    total = [weight for place, weight in window.weights if place in window.here and weight is not None]
    return float(max(total)) if len(total) == len(window.here) and total else None
