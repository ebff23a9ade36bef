"""What the ranks of one training run tell each other of it, so that their facts can be compared.

Nothing is sent while the run trains, and nobody takes part in a collective of ours. Each rank keeps short lists of its
windows. When the process group is about to be destroyed, or when the guard ends with it, each rank leaves its lists in
the store that the group was made with, which waits for nobody. Rank 0 alone looks for those of the others, for a few
seconds at most: a rank that has died leaves nothing, and is said to have left nothing.

Only optimizers whose parameters are in a DistributedDataParallel that ran are compared: processes may train other
things, or together in ways that are not known here.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from weakref import WeakSet

import torch
from torch import distributed
from torch.distributed.distributed_c10d import PrefixStore

from amplint.protocol.readings import RankFacts, RanksReading, TokenShare, WindowReading, known

KEPT = 4096
"""So many windows of an optimizer are compared."""

PATIENCE = 10.0
"""So many seconds rank 0 waits for what the others leave."""

_LOOKS = 8
_ALIKE = 1.05
_guards = count()


@dataclass
class _Kept:
    """The windows of one optimizer so far. `averaged`: its gradients are; `looks`: how often that was asked."""

    averaged: bool = False
    looks: int = 0
    windows: int = 0
    lengths: list[int] = field(default_factory=list)
    skips: list[bool] = field(default_factory=list)
    shares: list[TokenShare | None] = field(default_factory=list)


class Ranks:
    """The process among the others of its group. `patience`: see PATIENCE."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.rank, self.world_size = 0, 1
        self.patience = patience
        self.readings: dict[str, RanksReading] = {}
        self.not_covered: str | None = None
        self._number = next(_guards)
        self._wrapped: WeakSet[torch.nn.Module] = WeakSet()
        self._kept: dict[str, _Kept] = {}
        self._told = False

    @property
    def alone(self) -> bool:
        """Whether there are no other processes, as far as is known."""
        return self.world_size < 2

    def own(self, path: str) -> Path:
        """Where this process writes a file that every one was asked for: rank 0 under the name as it is."""
        named = Path(path)
        return named.with_name(f"{named.stem}.rank{self.rank}{named.suffix}") if self.rank else named

    def look(self) -> None:
        """Learns its number, if there is a group by now."""
        if self.alone and distributed.is_available() and distributed.is_initialized():
            self.rank, self.world_size = distributed.get_rank(), distributed.get_world_size()

    def ran(self, model: torch.nn.Module) -> None:
        """A DistributedDataParallel ran: the gradients of its parameters are averaged."""
        self._wrapped.add(model)
        self.look()

    def window(self, name: str, tensors: frozenset[int], micro_steps: int, reading: WindowReading | None) -> None:
        """A window of an optimizer ends, if it holds anything."""
        if self.alone or not self._wrapped or not micro_steps:
            return
        kept = self._kept.setdefault(name, _Kept())
        if not kept.averaged and kept.looks < _LOOKS:
            kept.looks += 1
            kept.averaged = any(id(one) in tensors for model in self._wrapped for one in model.parameters())
        kept.windows += 1
        if len(kept.lengths) < KEPT:
            kept.lengths.append(micro_steps)
            kept.shares.append(share_of(reading) if reading is not None else None)

    def decided(self, name: str, skipped: bool) -> None:
        """A scaler has skipped a step of an optimizer, or let it happen."""
        kept = self._kept.get(name)
        if kept is not None and len(kept.skips) < KEPT:
            kept.skips.append(skipped)

    def leaves(self, group: Any = None) -> None:
        """A process group is about to be destroyed; without the default one there is no store any more."""
        if group is None or group is distributed.group.WORLD:
            self.exchange()

    def exchange(self, ended: bool = True) -> None:
        """Tells the others, once; rank 0 hears what they have told. `ended`: the run has not failed."""
        if self._told or self.alone or not distributed.is_initialized():
            return
        self._told = True
        store = PrefixStore(f"runtime_guard/{self._number}", distributed.distributed_c10d._get_default_store())
        if self.rank:
            store.set(str(self.rank), json.dumps(self._facts(ended)))
            return
        others = range(1, self.world_size)
        if not self._arrived(store, [str(rank) for rank in others]):
            self.not_covered = f"the other ranks: not all of them had ended {self.patience:g} s after rank 0"
            return
        told = [self._facts(ended), *(json.loads(store.get(str(rank))) for rank in others)]
        self.readings = compared(told)

    def _arrived(self, store: Any, keys: list[str]) -> bool:
        until = time.monotonic() + self.patience
        while not all(store.check([key]) for key in keys):
            if time.monotonic() > until:
                return False
            time.sleep(0.02)
        return True

    def _facts(self, ended: bool) -> dict[str, dict[str, Any]]:
        return {
            name: asdict(
                RankFacts(
                    self.rank,
                    tuple(kept.lengths),
                    tuple(kept.skips),
                    tuple(kept.shares),
                    ended and kept.windows == len(kept.lengths),
                )
            )
            for name, kept in self._kept.items()
            if kept.averaged
        }


def compared(told: list[dict[str, dict[str, Any]]]) -> dict[str, RanksReading]:
    """By optimizer what the ranks have told, of those that every rank has."""
    names = [name for name in told[0] if all(name in facts for facts in told)]
    return {name: RanksReading(tuple(_read(facts[name]) for facts in told)) for name in names}


def _read(facts: dict[str, Any]) -> RankFacts:
    shares = tuple(None if share is None else TokenShare(**share) for share in facts["shares"])
    return RankFacts(facts["rank"], tuple(facts["lengths"]), tuple(facts["skips"]), shares, facts["whole"])


def share_of(reading: WindowReading) -> TokenShare | None:
    """What one token of a window weighs, where all of them weigh the same; None where they do not, or nobody knows."""
    main = reading.main
    if main is None or not main.tokens or len(main.weights) != reading.micro_steps:
        return None
    weights, counts = known(main.weights), known(main.counts)
    if weights is None or counts is None or min(counts) <= 0 or min(weights) <= 0:
        return None
    each = [weight / number for weight, number in zip(weights, counts, strict=True)]
    if max(each) > _ALIKE * min(each):
        return None
    whole = sum(counts)
    divided = any(abs(number - whole) < 0.5 for divisors in main.divisors for number in divisors)
    return TokenShare(whole, sum(weights) / whole, divided or max(counts) > _ALIKE * min(counts))
