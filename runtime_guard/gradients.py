"""What has happened to the gradients of an optimizer, seen from the identity and version of each `.grad`.

A version costs 0.1 µs to read and counts every in-place change, but neither `scaler.unscale_` nor edits of `.data`; an
assignment shows as another object (torch 2.13). Values are never read here.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from typing import Any

from torch import Tensor

from runtime_guard.held import Held
from runtime_guard.owners import GIVEN, parameters_of
from runtime_guard.shards import SHARDS, Mark

MOST = 64
"""So many parameters of an optimizer are looked at around a backward, evenly spread."""

FEW = 2
"""So many between any two events."""

FRESH = 50
"""So many backward passes the choice holds: parameters may be frozen and unfrozen."""

STALE = 400
"""So many it holds while the look is narrow."""

ASKED = 2
"""So often the graph is asked for each place of a backward that nothing was seen to come of."""

REGULAR = 8
"""After so many backward passes in which the same parameters have changed, the look is narrow."""

NODES = 20_000
"""So many nodes of a graph are asked."""

Stamp = list[Mark]


def sample(optimizer: Any, most: int | None = MOST) -> list[Tensor]:
    """At most so many of the tensors that are filled for an optimizer, evenly spread; all of them for None."""
    return spread([tensor for tensor in GIVEN.filled(optimizer) if tensor.requires_grad], most)


def spread(tensors: list[Tensor], most: int | None) -> list[Tensor]:
    """At most so many of some tensors, evenly spread."""
    if most is None or len(tensors) <= most:
        return tensors
    stride = len(tensors) / most
    return [tensors[int(index * stride)] for index in range(most)]


def stamp(tensors: Sequence[Tensor]) -> Stamp:
    """Identity and version of each gradient, None where there is none."""
    if SHARDS:
        return [SHARDS.mark(tensor) for tensor in tensors]
    try:  # without a call for each, as this is the most frequent thing that the guard does
        return [None if (grad := tensor.grad) is None else (id(grad), grad._version) for tensor in tensors]
    except RuntimeError:
        return [_mark(tensor.grad) for tensor in tensors]


def _mark(grad: Tensor | None) -> Mark:
    if grad is None:
        return None
    try:
        return id(grad), grad._version
    except RuntimeError:  # an inference tensor has no version
        return id(grad), 0


def leads_to(roots: Sequence[Tensor], identities: Collection[int]) -> bool:
    """Whether the graph of some losses ends in one of the tensors, or in what stands for one."""
    identities = {*identities, *SHARDS.leaves(identities)} if SHARDS else identities
    waiting: list[Any] = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen = set(waiting)
    while waiting and len(seen) < NODES:
        node = waiting.pop()
        if id(getattr(node, "variable", None)) in identities:
            return True
        fresh = {inner for inner, _ in node.next_functions if inner is not None} - seen
        seen |= fresh
        waiting += fresh
    return False


class Watch:
    """The parameters of an optimizer that are looked at, held weakly, and the gradients of a few as last seen.

    Once the same two parameters have changed in one backward after the other, only they are looked at: the *narrow*
    look. A narrow look that sees nothing proves nothing; then the graph is asked (`leads_to`), and the look is wide.
    `exchanged`: the optimizer steps copies of what is looked at. `gathered`: a backward has left nothing where it was
    looked, though its graph leads there: somebody takes the gradients away at once (Megatron-Core into `main_grad`).
    `erases`, `strange`: what was stepped was measured to lack the first part of its window, or to be another thing;
    `looks`: how often each was. `stepped`: the tensors of the last update, by their identity.
    """

    def __init__(self, optimizer: Any) -> None:
        self._shape: tuple[int, ...] = ()
        self._age = 0
        self._many: list[weakref.ref[Tensor]] = []
        self._few: list[weakref.ref[Tensor]] = []
        self._ends: list[weakref.ref[Tensor]] = []
        self._regular = 0
        self.exchanged, self.gathered, self.asked = False, False, 0
        self.erases = self.strange = False
        self.looks, self.stepped = Counter[Held](), frozenset[int]()
        self._gathering, self._graphs = set[Hashable](), Counter[Hashable]()
        self.seen: Stamp = []
        self.choose(optimizer)

    @property
    def empty(self) -> bool:
        """Whether there was no gradient when it was last looked."""
        return not any(mark is not None for mark in self.seen)

    @property
    def narrow(self) -> bool:
        """Whether only a few parameters are looked at around a backward."""
        return self._regular >= REGULAR

    def choose(self, optimizer: Any, most: int | None = MOST) -> None:
        """Watches parameters of an optimizer from now on."""
        SHARDS.look(parameters_of(optimizer))
        tensors = sample(optimizer, most)
        self._shape, self._age, self._regular = _shape(optimizer), 0, 0
        self._many = [weakref.ref(tensor) for tensor in tensors]
        self._few = [weakref.ref(tensor) for tensor in spread(tensors, FEW)]
        self.see()

    def many(self, optimizer: Any, missed: bool) -> list[Tensor]:
        """The parameters to look at around a backward; all of them after one in which nothing was seen to change."""
        self._age += 1
        if self._age == 1 and not self.exchanged:  # copies are made before the first pass
            self.exchanged = GIVEN.exchanged(optimizer)
        if missed:
            self.choose(optimizer, None)
            self._age = FRESH
        elif self._regular >= REGULAR and self._age <= STALE:
            return [tensor for held in self._ends if (tensor := held()) is not None]
        elif self._age > FRESH or _shape(optimizer) != self._shape:
            self.choose(optimizer)
        return [tensor for held in self._many if (tensor := held()) is not None]

    def changed(self, before: Stamp, tensors: Sequence[Tensor]) -> bool:
        """Whether any gradient has changed since the stamp was made, before a backward."""
        now = stamp(tensors)
        if len(now) <= FEW:
            return now != before
        moved = [at for at, (one, other) in enumerate(zip(now, before, strict=True)) if one != other]
        ends = [tensors[at] for at in (moved[0], moved[-1])] if moved else []
        same = len(ends) == len(self._ends) and all(map(_is, self._ends, ends))
        self._regular = self._regular + 1 if same and ends else 0
        if not same:
            self._ends = [weakref.ref(tensor) for tensor in ends]
        return bool(moved)

    def gathers(self, roots: Sequence[Tensor], place: Hashable, tensors: Sequence[Tensor]) -> bool:
        """Whether a backward at a place that has changed no gradient has made some. The graph is asked until it says
        so, and a few times at most."""
        if place not in self._gathering and self._graphs[place] < ASKED:
            self._graphs[place] += 1
            if leads_to(roots, set(map(id, tensors))):
                self._gathering.add(place)
                self.gathered = True
        return place in self._gathering

    def continues(self, optimizer: Any, begun: bool) -> bool:
        """Whether a step is of the same update as the one before: it steps other copies, and no window has begun since.
        DeepSpeed 0.19.8 steps one group of parameters at a time at ZeRO 1 to 3 (`_optimizer_step`)."""
        if not self.exchanged:
            return False
        steps = frozenset(map(id, parameters_of(optimizer)))
        same = not begun and bool(self.stepped) and not steps & self.stepped
        self.stepped = steps | self.stepped if same else steps
        return same

    def widen(self) -> None:
        """Looks at many again."""
        self._regular = 0

    def few(self) -> list[Tensor]:
        """Those whose gradients `now` and `seen` are about."""
        return [tensor for held in self._few if (tensor := held()) is not None]

    def see(self) -> None:
        """Takes the gradients as they are now for known."""
        self.seen = self.now()

    def news(self) -> str | None:
        """What has happened since: `gone`, `changed`, or None for nothing. Afterwards it is known."""
        before, now = self.seen, self.now()
        self.seen = now
        if before == now:
            return None
        if any(mark is not None for mark in now):
            return "changed"
        return "gone"

    def now(self) -> Stamp:
        """The gradients of a few parameters."""
        if SHARDS:
            return stamp(self.few())
        try:  # the most frequent thing that the guard does
            return [
                None if (grad := held().grad) is None else (id(grad), grad._version)  # type: ignore[union-attr]
                for held in self._few
            ]
        except (AttributeError, RuntimeError):  # a parameter that is gone, or an inference tensor
            return stamp([tensor for held in self._few if (tensor := held()) is not None])


def _is(held: weakref.ref[Tensor], tensor: Tensor) -> bool:
    return held() is tensor


def _shape(optimizer: Any) -> tuple[int, ...]:
    return tuple(len(group["params"]) for group in getattr(optimizer, "param_groups", ()))
