"""What autograd nodes keep for their backward, read without disturbing it.

A saved tensor with an unpack hook (checkpointing, offloading) is never read: reading would recompute it. torch 2.13
says which have one (`SavedTensor.unpack_hook`), torch 2.8 does not. There the hooks that are given to torch while the
guard listens refuse an answer to the guard (`shy`), and only to it.

Where a node does not say what shapes it made (`_input_metadata`: torch 2.6 has it, 2.4 has not), the node that took the
result says so for the reductions and criteria, which keep the size of what they reduce.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Node = Any
Shape = tuple[int, ...]

TELLS_HOOKS = hasattr(torch._C._autograd.SavedTensor, "unpack_hook")
TELLS_SHAPES = "_input_metadata" in dir(torch.empty((), requires_grad=True).neg().grad_fn)
TAKING_HOOKS: tuple[tuple[Any, str], ...] = (
    (torch._C._autograd, "_push_saved_tensors_default_hooks"),
    (torch._C._autograd.SavedTensor, "register_hooks"),
)
"""What takes hooks of saved tensors; `torch.autograd.graph.saved_tensors_hooks` calls the first (torch 2.4 to 2.13)."""
_KEPT_OPERANDS = ("self", "other")
_NAMES: dict[type, tuple[str, ...]] = {}


class Refused(RuntimeError):
    """Said by an unpack hook that the guard has asked."""


class Quietly(threading.local):
    """While it is entered, hooks of this thread refuse; it may be entered again inside."""

    depth = 0

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1


quietly = Quietly()


def shy(take: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which takes a pack and an unpack hook: the latter refuses an answer to the guard."""

    def taking(*given: Any) -> Any:
        *others, unpack = given

        def unpacked(kept: Any) -> Any:
            if quietly.depth:
                raise Refused
            return unpack(kept)

        return take(*others, unpacked)

    return torch.compiler.disable(taking)  # type: ignore[no-any-return, no-untyped-call]


def hidden(raw: Any) -> bool:
    """Whether reading a saved tensor would run a hook, where torch says so."""
    return TELLS_HOOKS and raw is not None and raw.unpack_hook is not None


def saved(node: Node, name: str) -> Any:
    """A value that a node keeps for its backward; None if it keeps none, or reading would recompute it."""
    if TELLS_HOOKS and getattr(getattr(node, f"_raw_saved_{name}", None), "unpack_hook", None) is not None:
        return None
    try:
        if TELLS_HOOKS:
            return getattr(node, f"_saved_{name}", None)
        with quietly:
            return getattr(node, f"_saved_{name}", None)
    except RuntimeError:  # refused; freed, or changed in place since: torch says so itself when backward needs it
        return None


def constant(node: Node, name: str) -> float | None:
    """A number that the code multiplied or divided by, if the host knows it."""
    value = saved(node, name)
    if isinstance(value, (int, float)):
        return float(value)
    if not isinstance(value, Tensor) or value.numel() != 1 or value.device.type != "cpu" or value.is_complex():
        return None
    return float(value.detach())


def shape_of(node: Node | None, output: int = 0) -> Shape | None:
    """The shape of what a node made; None when the graph does not say."""
    if node is None:
        return None
    if hasattr(node, "variable"):
        return tuple(node.variable.shape)
    made = node._input_metadata if TELLS_SHAPES else ()
    return tuple(int(size) for size in made[output].shape) if output < len(made) else None


def taken(node: Node | None, operand: int = 0) -> Shape | None:
    """The shape of what a node took; None when the graph does not say."""
    if node is None or operand >= len(node.next_functions):
        return None
    known = shape_of(*node.next_functions[operand])
    if known is not None or TELLS_SHAPES or operand >= len(_KEPT_OPERANDS):
        return known
    sizes = saved(node, f"{_KEPT_OPERANDS[operand]}_sym_sizes")
    if sizes is not None:
        return tuple(int(size) for size in sizes)
    value = saved(node, _KEPT_OPERANDS[operand])
    return tuple(value.shape) if isinstance(value, Tensor) else None


def dtypes_of(node: Node) -> set[torch.dtype] | None:
    """The dtypes of the gradients that a node takes, or of what it keeps; None when the graph does not say."""
    if TELLS_SHAPES:
        return {part.dtype for part in node._input_metadata}
    try:
        with quietly:
            kept = [getattr(node, name) for name in _names_of(type(node))]
    except RuntimeError:
        return None
    return {value.dtype for value in kept if isinstance(value, Tensor)}


def _names_of(kind: type) -> tuple[str, ...]:
    if kind not in _NAMES:
        _NAMES[kind] = tuple(name for name in dir(kind) if name.startswith("_saved_"))
    return _NAMES[kind]
