"""What the ranks of one training run tell each other of it, so that their facts can be compared.

Nothing is sent while the run trains, and nobody takes part in a collective of ours. Each rank keeps short lists of its
windows. When the process group is about to be destroyed, or when the guard ends with it, each rank leaves its lists in
the store that the group was made with, which waits for nobody. Rank 0 alone looks for those of the others, for a few
seconds at most: a rank that has died leaves nothing, and is said to have left nothing.

Only optimizers whose parameters are in a DistributedDataParallel are compared: processes may train other things, or
together in ways that are not known here. With what it knows each rank leaves its part of the report, which rank 0 joins
to its own (`report/joined.py`). The store of `torchrun` outlives the group; of any other the parts are left when the
group is destroyed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from weakref import WeakSet, ref

import torch
from torch import distributed
from torch.distributed.distributed_c10d import PrefixStore

from amplint.protocol.readings import RankFacts, RanksReading, TokenShare, WindowReading, known
from runtime_guard.replicas import digest

KEPT = 4096
"""So many windows of an optimizer are compared."""

PATIENCE = 10.0
"""So many seconds rank 0 waits for what the others leave."""

_OVER = "over"
_LOOKS = 8
_ALIKE = 1.05
_guards = count()


@dataclass
class _Kept:
    """The windows of one optimizer so far. `models`: what averages its gradients; `looks`: how often that was asked;
    `replica`: the digest of their copy; `around`: none of them has run."""

    models: list[ref[torch.nn.Module]] = field(default_factory=list)
    replica: str | None = None
    around: bool = False
    looks: int = 0
    windows: int = 0
    lengths: list[int] = field(default_factory=list)
    skips: list[bool] = field(default_factory=list)
    shares: list[TokenShare | None] = field(default_factory=list)


class Ranks:
    """The process among the others of its group. `patience`: see PATIENCE; `report`: what rank 0 is told of this one.

    `bypassed`: the optimizers whose models never ran through their wrapper, and are not alike in the end. `others`:
    what the others have told, by rank; `missing`: the ranks that have not. `delivered`: what this one knows is with
    rank 0, which tells it.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self.rank, self.world_size = _of_environment()
        self.patience = patience
        self.report: Callable[[], dict[str, Any]] = dict
        self.others: dict[int, dict[str, Any]] = {}
        self.missing: list[int] = []
        self.bypassed = set[str]()
        self.delivered = False
        self._store: Any = None
        self._grouped = False
        self.readings: dict[str, RanksReading] = {}
        self.not_covered: str | None = None
        self._number = next(_guards)
        self._wrapped: WeakSet[torch.nn.Module] = WeakSet()
        self._ran: WeakSet[torch.nn.Module] = WeakSet()
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
        """Learns its number from the group, if there is one by now; else it is that of the environment."""
        if not self._grouped and distributed.is_available() and distributed.is_initialized():
            self._grouped = True
            self.rank, self.world_size = distributed.get_rank(), distributed.get_world_size()
            if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":  # of another, this may be the server
                self._store = distributed.distributed_c10d._get_default_store()

    def wraps(self, model: torch.nn.Module, runs: bool = False) -> None:
        """A DistributedDataParallel is made, or runs: the gradients of its parameters are meant to be averaged."""
        self._wrapped.add(model)
        self.look()
        if runs:
            self._ran.add(model)

    def group(self) -> None:
        """A process group was made."""
        self.look()

    def window(self, name: str, tensors: frozenset[int], micro_steps: int, reading: WindowReading | None) -> None:
        """A window of an optimizer ends, if it holds anything."""
        if self.alone or not self._wrapped or not micro_steps:
            return
        kept = self._kept.setdefault(name, _Kept())
        if not kept.models and kept.looks < _LOOKS:
            kept.looks += 1
            for model in sorted(self._wrapped, key=_names):
                if any(id(one) in tensors for one in model.parameters()):
                    kept.models.append(ref(model))
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
            self.look()
            self._digest()
            if self._store is None:
                self.exchange()

    def _digest(self) -> None:
        """Takes what the copies are now; where they are gone, what they were."""
        for kept in self._kept.values():
            models = [model for held in kept.models if (model := held()) is not None]
            if len(models) == len(kept.models):
                kept.replica, kept.around = digest(models), not any(model in self._ran for model in models)

    def exchange(self, ended: bool = True) -> None:
        """Tells the others, once; rank 0 hears what they have told. `ended`: the run has not failed."""
        self.look()
        if self._told or self.alone or not (self._store is not None or _initialized()):
            return
        self._told = True
        self._digest()
        held = self._store if self._store is not None else distributed.distributed_c10d._get_default_store()
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = PrefixStore(f"runtime_guard/{attempt}/{self._number}", held)
        try:
            self._tell(store, ended) if self.rank else self._hear(store, ended)
        except RuntimeError:  # who has held the store is gone
            self.not_covered = "the other ranks: what the group has met by is gone"

    def _tell(self, store: Any, ended: bool) -> None:
        told = {"facts": self._facts(ended), "report": self.report()}
        store.set(str(self.rank), json.dumps(told, default=str))
        late = store.check([_OVER]) and self.rank in json.loads(store.get(_OVER))
        self.delivered = ended and not late

    def _hear(self, store: Any, ended: bool) -> None:
        """Takes what the others have left, as soon as it is there: a signal may end that at any time."""
        own, told = self._facts(ended), dict[int, Any]()
        self._misses(list(range(1, self.world_size)))
        until = time.monotonic() + self.patience
        while self.missing:
            for rank in [one for one in self.missing if store.check([str(one)])]:
                told[rank] = json.loads(store.get(str(rank)))
                self.others[rank] = told[rank]["report"]
                self._misses([one for one in self.missing if one != rank])
            if not self.missing or time.monotonic() > until:
                break
            time.sleep(0.02)
        store.set(_OVER, json.dumps(self.missing))
        if not self.missing:
            self._compares([own, *(told[rank]["facts"] for rank in sorted(told))])

    def _misses(self, ranks: list[int]) -> None:
        self.missing = ranks
        names = ", ".join(map(str, ranks))
        waited = f"no word of it {self.patience:g} s after rank 0 had ended"
        self.not_covered = f"rank{'s'[: len(ranks) > 1]} {names}: {waited}" if ranks else None

    def _compares(self, told: list[dict[str, dict[str, Any]]]) -> None:
        self.readings = compared(told)
        for name, reading in self.readings.items():
            unlike = len({facts.replica for facts in reading.ranks}) > 1
            if unlike and all(facts.around for facts in reading.ranks):
                self.bypassed.add(name)

    def _facts(self, ended: bool) -> dict[str, dict[str, Any]]:
        return {
            name: asdict(
                RankFacts(
                    self.rank,
                    tuple(kept.lengths),
                    tuple(kept.skips),
                    tuple(kept.shares),
                    ended and kept.windows == len(kept.lengths),
                    kept.replica,
                    kept.around,
                )
            )
            for name, kept in self._kept.items()
            if kept.models
        }


def _of_environment() -> tuple[int, int]:
    """The rank and the number of ranks that a launcher has told."""
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return (int(rank), int(size)) if rank.isdecimal() and size.isdecimal() and int(rank) < int(size) else (0, 1)


def _initialized() -> bool:
    return distributed.is_available() and distributed.is_initialized()


def _names(model: torch.nn.Module) -> str:
    """What tells wrapped models apart on every rank alike."""
    return " ".join(f"{name}{tuple(one.shape)}" for name, one in model.named_parameters())


def compared(told: list[dict[str, dict[str, Any]]]) -> dict[str, RanksReading]:
    """By optimizer what the ranks have told, of those that every rank has."""
    names = [name for name in told[0] if all(name in facts for facts in told)]
    return {name: RanksReading(tuple(_read(facts[name]) for facts in told)) for name in names}


def _read(facts: dict[str, Any]) -> RankFacts:
    shares = tuple(None if share is None else TokenShare(**share) for share in facts["shares"])
    return RankFacts(**{**facts, "lengths": tuple(facts["lengths"]), "skips": tuple(facts["skips"]), "shares": shares})


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
