"""What several processes do to the gradients: what wraps the model, and whether a backward reduces over the ranks.

`DistributedDataParallel` decides at the *forward* whether the backward that follows all-reduces (`_post_forward`
prepares the reducer, torch 2.13); FSDP decides at the backward (`_post_backward_hook`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from amplint.protocol.values import with_changes


class Wrapper(Enum):
    """What wraps the model. `INSIDE`: it is the module inside; `TAKEN_OUT`: of whatever a framework wraps models in.
    `SOME`: something with a `no_sync`, no more is known."""

    __hash__ = object.__hash__  # members are compared by identity; Enum hashes their names in Python

    NONE = "nothing that is known"
    DDP = "DistributedDataParallel"
    INSIDE = "DistributedDataParallel, gone around"
    TAKEN_OUT = "a framework's wrapper, gone around"
    SHARDED = "FullyShardedDataParallel"
    UNSHARDED = "FullyShardedDataParallel with NO_SHARD"
    BY_PARAMETER = "fully_shard"
    SOME = "not known"


class Sync(Enum):
    """What becomes of the gradients of a backward. `TOO_LATE`: its `no_sync` does not hold the forward."""

    __hash__ = object.__hash__  # members are compared by identity; Enum hashes their names in Python

    UNKNOWN = "not known"
    REDUCED = "reduced over the ranks"
    LOCAL = "left on their rank"
    TOO_LATE = "reduced over the ranks although the backward runs in no_sync"


SET_LATE = "set late"
"""The detail of a backward before which the program set `require_backward_grad_sync`, but after its forward."""


@dataclass(frozen=True)
class Sharing:
    """What the ranks know of one window's gradients.

    `reductions`: micro-steps of the window whose gradients a wrapper all-reduced; `by_hand`: after which the program
    did, the last time when the window had `reached` so many. `local`: every backward of the present micro-step left its
    gradients on their rank; `alone`: every one of the window. `wrapper`: what wraps the model of the last backward.
    """

    reductions: int = 0
    by_hand: int = 0
    reached: int = 0
    local: bool = False
    alone: bool = True
    wrapper: Wrapper = Wrapper.NONE


NO_SHARING = Sharing()


def share(before: Sharing, sync: Sync, wrapper: Wrapper, begins: bool) -> Sharing:
    """What is shared after a backward; `begins`: it is the first one of a micro-step."""
    local = sync is Sync.LOCAL and (begins or before.local)
    again = begins and sync is Sync.REDUCED and wrapper is Wrapper.DDP
    alone = before.alone and sync is Sync.LOCAL
    return with_changes(before, reductions=before.reductions + again, local=local, alone=alone, wrapper=wrapper)


def share_by_hand(before: Sharing, micro_steps: int) -> Sharing:
    """What is shared after the program has reduced gradients itself: those of several models count once."""
    if micro_steps == before.reached:
        return before
    return with_changes(before, by_hand=before.by_hand + 1, reached=micro_steps)
