"""Which tensors a backward pass fills for an optimizer.

Those that it steps, as a rule. Where its groups were given copies instead (masters in full precision: Apex' amp at O2
copy by copy, DeepSpeed 0.19 as one flat tensor for many), those that it was given before, for as long as they live: the
copies are in no graph, and get their gradients by code. A graph that leads to what it steps proves the contrary.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch import Tensor

_Held = list[weakref.ref[Tensor]]
_Known = tuple[weakref.ref[Any], _Held, tuple[int, ...]]


@dataclass(frozen=True)
class Copy:
    """Where a parameter lies in what is stepped for it: from which element on, of which tensor. Of an optimizer that
    steps its parameters themselves, the parameter."""

    parameter: weakref.ref[Tensor]
    stepped: weakref.ref[Tensor]
    offset: int
    numel: int
    matrix: bool
    kind: tuple[torch.dtype, torch.device]

    def part(self, tensor: Tensor | None) -> Tensor | None:
        """Its elements in what is stepped, or in the gradient of that."""
        if tensor is None or not tensor.is_contiguous() or tensor.numel() < self.offset + self.numel:
            return None
        return tensor.detach().view(-1)[self.offset : self.offset + self.numel]


def parameters_of(optimizer: Any) -> list[Tensor]:
    """The tensors that an optimizer steps."""
    return [
        parameter
        for group in getattr(optimizer, "param_groups", ())
        for parameter in group["params"]
        if isinstance(parameter, Tensor)
    ]


class Given:
    """The tensors that optimizers were given first, held weakly."""

    def __init__(self) -> None:
        self._of: dict[int, _Known] = {}

    def filled(self, optimizer: Any) -> list[Tensor]:
        """The tensors that a backward pass fills for an optimizer."""
        steps = parameters_of(optimizer)
        first = self._first(optimizer)
        if first is None:
            return self._keep(optimizer, steps)
        if len(first) == len(steps):
            return [_other(held(), now) for held, now in zip(first, steps, strict=True)]
        living = [tensor for held in first if (tensor := held()) is not None]
        now = set(map(id, steps))
        if living and not any(id(tensor) in now for tensor in living):
            return living
        return self._keep(optimizer, steps)

    def exchanged(self, optimizer: Any) -> bool:
        """Whether an optimizer steps other tensors than those that a backward pass fills for it."""
        first, groups = self._first(optimizer), getattr(optimizer, "param_groups", ())
        if first and groups and groups[0]["params"] and groups[-1]["params"]:
            if first[0]() is groups[0]["params"][0] and first[-1]() is groups[-1]["params"][-1]:
                return False  # the ends are as they were: asked often
        return list(map(id, self.filled(optimizer))) != list(map(id, parameters_of(optimizer)))

    def together(self, optimizer: Any) -> bool:
        """Whether an optimizer steps copies that each hold many tensors at once: who fills them takes the gradients
        away meanwhile, and gathers them elsewhere (DeepSpeed 0.19.8, `zero/stage_1_and_2.py`, `zero/stage3.py`)."""
        first = self._first(optimizer)
        return self.exchanged(optimizer) and first is not None and len(first) != len(parameters_of(optimizer))

    def copies(self, optimizer: Any) -> list[Copy]:
        """Where the parameters that an optimizer was given lie in what it steps, if they lie there group by group, one
        after the other. Of an optimizer that steps one group at a time, those of the groups that are there."""
        known = self._of.get(id(optimizer))
        if known is None or known[0]() is not optimizer:
            return []
        given = iter([held() for held in known[1]])
        found: list[Copy] = []
        for size, group in zip(known[2], getattr(optimizer, "param_groups", ()), strict=False):
            parameters = [one for one in islice(given, size) if one is not None and one.requires_grad]
            found += _one_after_the_other(parameters, [one for one in group["params"] if isinstance(one, Tensor)])
        return found

    def adopt(self, optimizer: Any) -> None:
        """From now on what an optimizer steps is what it was given."""
        self._keep(optimizer, parameters_of(optimizer))

    def _first(self, optimizer: Any) -> _Held | None:
        known = self._of.get(id(optimizer))
        return known[1] if known is not None and known[0]() is optimizer else None

    def _keep(self, optimizer: Any, tensors: list[Tensor]) -> list[Tensor]:
        key = id(optimizer)
        sizes = tuple(len(group["params"]) for group in getattr(optimizer, "param_groups", ()))
        gone = weakref.ref(optimizer, lambda _: self._of.pop(key, None))
        self._of[key] = gone, list(map(weakref.ref, tensors)), sizes
        return tensors


def _one_after_the_other(parameters: list[Tensor], steps: list[Tensor]) -> Iterator[Copy]:
    """Each parameter with its place in the tensors that are stepped, which they fill in order."""
    held, offset = iter(steps), 0
    tensor = next(held, None)
    for one in parameters:
        count = one.numel()
        while tensor is not None and tensor.numel() < offset + count:
            tensor, offset = next(held, None), 0
        if tensor is None:
            return
        yield Copy(weakref.ref(one), weakref.ref(tensor), offset, count, one.dim() > 1, (one.dtype, one.device))
        offset += count


def _other(before: Tensor | None, now: Tensor) -> Tensor:
    """Of two tensors at one place of an optimizer: the first, if the second may be a copy of it."""
    return before if before is not None and before.shape == now.shape else now


GIVEN = Given()
"""What is known of the optimizers of this process."""


class Owners:
    """Which optimizers step a tensor; remembered until an optimizer's groups are others."""

    def __init__(self) -> None:
        self._ids: dict[int, tuple[tuple[int, ...], frozenset[int]]] = {}

    def ids(self, optimizer: Any) -> frozenset[int]:
        """The identities of the tensors that an optimizer steps, and of those of which they are copies."""
        shape = _shape(optimizer)
        known = self._ids.get(id(optimizer))
        if known is None or known[0] != shape:
            known = (shape, frozenset(map(id, (*parameters_of(optimizer), *GIVEN.filled(optimizer)))))
            self._ids[id(optimizer)] = known
        return known[1]

    def owns_any(self, optimizer: Any, tensors: Iterable[Tensor]) -> bool:
        """Whether an optimizer steps at least one of the tensors."""
        ids = self.ids(optimizer)
        return any(id(tensor) in ids for tensor in tensors)

    def by_tensor(self, optimizers: Iterable[tuple[Any, str]]) -> dict[int, str]:
        """The name of the optimizer of each tensor, by its identity; of those that several step, none."""
        found: dict[int, str] = {}
        for thing, name in optimizers:
            for known in self.ids(thing):
                found[known] = name if found.get(known, name) == name else ""
        return {known: name for known, name in found.items() if name}

    def forget(self, optimizer: Any) -> None:
        """An object whose identity may belong to another one now."""
        self._ids.pop(id(optimizer), None)


def _shape(optimizer: Any) -> tuple[int, ...]:
    """What changes with the groups of an optimizer: their sizes, and which tensors begin and end them."""
    groups = [group["params"] for group in getattr(optimizer, "param_groups", ())]
    ends = [id(group[at]) for group in groups if isinstance(group, list) and group for at in (0, -1)]
    return (*map(len, groups), *ends)
