"""Models whose parameters are sharded over the ranks, and where the gradients of such a parameter are.

What an optimizer steps is a shard, and no leaf of the graph. `fully_shard` (FSDP2) gives the graph a whole parameter;
its gradient is reduced into the shard's, by adding to the tensor inside of a DTensor, which counts no version of the
DTensor itself, or is kept whole where `set_requires_gradient_sync(False)` says so. FullyShardedDataParallel (FSDP1)
gives the graph one flat parameter for many; with `use_orig_params` the optimizer steps views of its shard, some of
which are empty on a rank. Both decide at the backward whether it reduces (read in torch 2.4 and 2.13:
`_fully_shard/_fsdp_param_group.py`, `_runtime_utils.py`).

Nothing here is asked of a run that shards nothing.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from amplint.protocol.ranks import Sync, Wrapper

Mark = tuple[int, int] | None
_KEPT = ("_saved_grad_shard", "_cpu_grad")  # where FSDP1 accumulates


@dataclass(frozen=True)
class _OfGroup:
    """A parameter of `fully_shard`. `part`: its FSDPParam; `group`: what it is communicated with."""

    part: weakref.ref[Any]
    group: weakref.ref[Any]
    wrapper = Wrapper.BY_PARAMETER

    def gradients(self) -> list[Tensor | None]:
        """Everything that may hold what backward passes have given."""
        part = self.part()
        if part is None:
            return []
        whole = getattr(part, "_unsharded_param", None)
        shard, kept = part.sharded_param.grad, getattr(part, "unsharded_accumulated_grad", None)
        return [getattr(shard, "_local_tensor", shard), whole.grad if whole is not None else None, kept]

    def leaf(self) -> Tensor | None:
        """What the graph ends in."""
        return getattr(self.part(), "_unsharded_param", None)

    def reduces(self) -> bool | None:
        """Whether a backward that happens now reduces its gradients."""
        group = self.group()
        return None if group is None else bool(group.reduce_grads)


@dataclass(frozen=True)
class _Flat:
    """A parameter of FullyShardedDataParallel. `module`: the wrapper; `flat`: its flat parameter."""

    module: weakref.ref[Any]
    flat: weakref.ref[Any]
    wrapper: Wrapper

    def gradients(self) -> list[Tensor | None]:
        """Everything that may hold what backward passes have given; nothing once the shards' own are erased."""
        flat = self.flat()
        if flat is None or self._erased(flat):
            return []
        return [flat.grad, *(getattr(flat, name, None) for name in _KEPT)]

    def _erased(self, flat: Any) -> bool:
        """Whether the shards that are no empty ones have lost their gradient: FSDP takes note at the next forward."""
        held = next((one for one in getattr(flat, "_params", None) or () if one.numel()), None)
        return held is not None and held.grad is None

    def leaf(self) -> Tensor | None:
        """What the graph ends in."""
        return self.flat()

    def reduces(self) -> bool | None:
        """Whether a backward that happens now reduces its gradients."""
        module = self.module()
        return None if module is None else bool(getattr(module, "_sync_gradients", True))


_Known = tuple[weakref.ref[Tensor], _OfGroup | _Flat]


class Shards:
    """What is known of the sharded parameters of this process, by their identity."""

    def __init__(self) -> None:
        self._of: dict[int, _Known] = {}
        self._modules: weakref.WeakSet[Any] = weakref.WeakSet()

    def __bool__(self) -> bool:
        return bool(self._of)

    def ran(self, module: Any) -> bool:
        """A FullyShardedDataParallel runs. Returns whether it was not known."""
        if module in self._modules:
            return False
        self._modules.add(module)
        flat = getattr(getattr(module, "_handle", None), "flat_param", None)
        if flat is None:
            return False
        strategy = str(getattr(getattr(module, "sharding_strategy", None), "name", ""))
        whole = strategy == "NO_SHARD" or getattr(module, "world_size", 2) < 2
        wrapper = Wrapper.UNSHARDED if whole else Wrapper.SHARDED
        known = _Flat(weakref.ref(module), weakref.ref(flat), wrapper)
        for tensor in (flat, *(getattr(flat, "_params", None) or ())):
            self._keep(tensor, known)
        return True

    def look(self, tensors: Iterable[Tensor]) -> None:
        """Learns of those tensors that `fully_shard` has made, if there are some that are not known."""
        fresh = {id(one) for one in tensors if hasattr(one, "_local_tensor") and self.of(one) is None}
        if not fresh:
            return
        for part, group in _parts():
            if id(part.sharded_param) in fresh:
                self._keep(part.sharded_param, _OfGroup(weakref.ref(part), weakref.ref(group)))

    def _keep(self, tensor: Tensor, known: _OfGroup | _Flat) -> None:
        key = id(tensor)
        self._of[key] = weakref.ref(tensor, lambda _: self._of.pop(key, None)), known

    def of(self, tensor: Tensor) -> _OfGroup | _Flat | None:
        """What is known of a tensor."""
        known = self._of.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else None

    def mark(self, tensor: Tensor) -> Mark:
        """What changes with every backward that reaches a sharded parameter; None while it has no gradient."""
        known = self.of(tensor)
        found = [tensor.grad] if known is None else known.gradients()
        marks = [(id(one), one._version) for one in found if one is not None]
        return None if not marks else marks[0] if len(marks) == 1 else (hash(tuple(marks)), 0)

    def leaves(self, identities: Collection[int]) -> set[int]:
        """The leaves of the graph that stand for some tensors."""
        found = (self._of[one][1].leaf() for one in identities if one in self._of)
        return {id(leaf) for leaf in found if leaf is not None}

    def said(self, tensors: Iterable[Tensor]) -> dict[str, Any]:
        """What wraps the model of some tensors, and whether a backward that happens now reduces over the ranks."""
        known = [one for tensor in tensors if (one := self.of(tensor)) is not None]
        wrappers, reduced = {one.wrapper for one in known}, {one.reduces() for one in known}
        if len(wrappers) != 1:
            return {}
        sync = Sync.UNKNOWN if len(reduced) != 1 or None in reduced else Sync.REDUCED if True in reduced else Sync.LOCAL
        return {"wrapper": wrappers.pop(), "sync": sync}


def _parts() -> Iterator[tuple[Any, Any]]:
    """Every parameter that `fully_shard` has made, with its group."""
    states = getattr(sys.modules.get("torch.distributed._composable_state"), "_module_state_mapping", {})
    for state in [held() if isinstance(held, weakref.ref) else held for held in list(states.values())]:
        groups = getattr(state, "_fsdp_param_groups", None) or [getattr(state, "_fsdp_param_group", None)]
        for group in groups:
            yield from ((part, group) for part in getattr(group, "fsdp_params", ()))


SHARDS = Shards()
"""What is known of this process."""
