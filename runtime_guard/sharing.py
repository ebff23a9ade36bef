"""Whether a backward reduces gradients over the ranks: what `DistributedDataParallel` has decided at the forward.

Its forward prepares the reducer if gradients are on and `require_backward_grad_sync` is set (`_post_forward`, torch
2.13); a `no_sync` that is entered later comes too late. A backward for which no forward was seen since the last one
(two losses of one forward) says nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from amplint.protocol.ranks import Sync, Wrapper
from runtime_guard.shards import SHARDS


class Sharing:
    """The wrapped models that ran, each with what its forwards since the last backward have decided."""

    def __init__(self) -> None:
        self._decided: WeakKeyDictionary[Any, set[bool]] = WeakKeyDictionary()

    def ran(self, model: Any) -> None:
        """A forward of a wrapped model begins."""
        if torch.is_grad_enabled():
            self._decided.setdefault(model, set()).add(bool(model.require_backward_grad_sync))

    def of(self, tensors: Collection[Tensor]) -> dict[str, Any]:
        """What wraps the model that a backward has reached, and whether its gradients were reduced; {} if nothing."""
        if SHARDS and (wrapped := SHARDS.said(tensors)):
            return wrapped
        if not self._decided:
            return {}
        identities = set(map(id, tensors))
        found = [model for model in self._decided if any(id(one) in identities for one in model.parameters())]
        said = {_sync(self._decided[model], model.require_backward_grad_sync) for model in found}
        return {"wrapper": Wrapper.DDP, "sync": said.pop() if len(said) == 1 else Sync.UNKNOWN} if found else {}

    def passed(self) -> None:
        """A backward has used what was decided."""
        for decided in self._decided.values():
            decided.clear()


def _sync(decided: set[bool], now: bool) -> Sync:
    if len(decided) != 1:
        return Sync.UNKNOWN
    if not all(decided):
        return Sync.LOCAL
    return Sync.REDUCED if now else Sync.TOO_LATE
