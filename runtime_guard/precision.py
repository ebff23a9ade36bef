"""Which precision a loss comes from, read from its graph, and which one its parameters have: no device is waited for.

Every autograd node knows the dtypes of the gradients that it takes. A half among them says what the forward ran in,
whoever entered the autocast region and wherever; a graph without any ran in full precision, unless a node hides a graph
of its own (a checkpoint, a compiled part). The graphs of the first passes are looked at, of the later ones nothing is
claimed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction

from amplint.protocol.precision import LOWER, Precision
from runtime_guard.kept import dtypes_of
from runtime_guard.owners import parameters_of

_DTYPES = {torch.float16: Precision.FLOAT16, torch.bfloat16: Precision.BFLOAT16, torch.float32: Precision.OFF}
_PASSES = 64
_NODES = 8192


class Precisions:
    """What the graphs of a run, and the parameters of its optimizers, say."""

    def __init__(self) -> None:
        self._looked = 0
        self._parameters: dict[str, Precision] = {}

    @property
    def looked(self) -> bool:
        """Whether no more graphs are looked at."""
        return self._looked >= _PASSES

    def of_forward(self, roots: Sequence[Tensor]) -> Precision:
        """Under which precision the forward of these losses ran; not known after the first passes of a run.

        On a CPU only float16 says something: a program that is meant for CUDA runs there in bfloat16, which is the
        default of `torch.autocast("cpu")`, or in full precision, and its scaler is a rehearsal.
        """
        if self._looked >= _PASSES:
            return Precision.UNKNOWN
        self._looked += 1
        found = _of_graph(roots)
        rehearsal = found is not Precision.FLOAT16 and any(root.device.type == "cpu" for root in roots)
        return Precision.UNKNOWN if rehearsal else found

    def of_parameters(self, name: str, optimizer: Any) -> Precision:
        """float16 if one of torch's own optimizers holds a gradient of that dtype; found out once."""
        known = self._parameters.get(name)
        if known is None:
            dtypes = {one.dtype for one in parameters_of(optimizer) if one.grad is not None}
            if not dtypes:
                return Precision.UNKNOWN
            known = self._parameters[name] = _of_dtypes(dtypes, optimizer)
        return known


def _of_dtypes(dtypes: set[torch.dtype], optimizer: Any) -> Precision:
    """Optimizers that are not torch's may keep a copy in float32."""
    if not type(optimizer).__module__.startswith("torch.optim."):
        return Precision.UNKNOWN
    found = {_DTYPES.get(dtype, Precision.UNKNOWN) for dtype in dtypes}
    return Precision.FLOAT16 if Precision.FLOAT16 in found else found.pop() if len(found) == 1 else Precision.UNKNOWN


_any_region: Callable[[], bool] = getattr(torch._C, "_is_any_autocast_enabled", lambda: True)


def still(region: Precision, roots: Sequence[Tensor]) -> bool:
    """Whether this thread would still run an operation on the losses under this precision."""
    if region in (Precision.OFF, Precision.UNKNOWN) and not _any_region():
        return True
    return region_of(roots) is region


def region_of(roots: Sequence[Tensor]) -> Precision:
    """Under which precision this thread would run an operation on the losses now."""
    kinds = {root.device.type for root in roots}
    kind = kinds.pop() if len(kinds) == 1 else ""
    if not kind or not torch.amp.is_autocast_available(kind):
        return Precision.UNKNOWN
    if not torch.is_autocast_enabled(kind):
        return Precision.OFF
    found = _DTYPES.get(torch.get_autocast_dtype(kind))
    return found if found in LOWER else Precision.LOWERED


def _of_graph(roots: Sequence[Tensor]) -> Precision:
    """The first half that is met on the way back; full precision if there is none in all of the graph."""
    waiting = deque(root.grad_fn for root in roots if root.grad_fn is not None)
    seen = set(waiting)
    hidden = not waiting
    while waiting:
        node: Any = waiting.popleft()
        dtypes = dtypes_of(node)
        found = {_DTYPES.get(one, Precision.UNKNOWN) for one in dtypes or ()} & LOWER
        if found:
            return Precision.LOWERED if len(found) > 1 else found.pop()
        closed = dtypes is None or isinstance(node, BackwardCFunction) or "Cpp" in node.name()
        hidden = hidden or closed or len(seen) > _NODES
        fresh = {inner for inner, _ in node.next_functions if inner is not None} - seen
        if len(seen) <= _NODES:
            seen |= fresh
            waiting.extend(fresh)
    return Precision.UNKNOWN if hidden else Precision.OFF
