"""Numbers that may still be on a device, and reach the host without anyone waiting for them.

A number of a CPU tensor is read at once: nothing runs behind it. A number of any other device stays a tensor. Many of
them travel together: one copy into pinned memory, queued behind the step's own work, and an event that says when it
has arrived (`torch.cuda.Event.query` does not wait). Only `values` waits, and is called when a report is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

Number = float | Tensor


def number(value: Tensor) -> Number:
    """A tensor of one element as a float if it is on the CPU, else the tensor itself."""
    return float(value.item()) if value.is_cpu else value.detach()


def learning_rate(optimizer: Optimizer) -> float | None:
    """The learning rate of the first group, if the host knows it."""
    rate = optimizer.param_groups[0].get("lr") if optimizer.param_groups else None
    if isinstance(rate, Tensor):
        rate = number(rate)
    return float(rate) if isinstance(rate, (int, float)) else None


def tensors_in(outputs: object) -> list[Tensor]:
    """The tensors of a tensor, or of lists and tuples of them."""
    if isinstance(outputs, Tensor):
        return [outputs]
    return [tensor for item in outputs for tensor in tensors_in(item)] if isinstance(outputs, (list, tuple)) else []


def capturing() -> bool:
    """Whether a CUDA graph is being captured: what Python does now is not done again when the graph is replayed."""
    return torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()  # type: ignore[no-untyped-call]


class Parcel:
    """Numbers on their way to the host."""

    def __init__(self, numbers: Sequence[Number]) -> None:
        self._numbers = list(numbers)
        self._places = [place for place, value in enumerate(self._numbers) if isinstance(value, Tensor)]
        self._host: Tensor | None = None
        self._event: Any = None
        if self._places:
            self._send()

    def _send(self) -> None:
        tensors = [value for value in self._numbers if isinstance(value, Tensor)]
        together = torch.stack([value.detach().reshape(()).float() for value in tensors])
        if together.device.type != "cuda":
            self._host = together  # read when a report is asked for
            return
        self._host = torch.empty(len(tensors), dtype=torch.float32, pin_memory=True)
        self._host.copy_(together, non_blocking=True)
        self._event = torch.cuda.Event()  # type: ignore[no-untyped-call]
        self._event.record()

    @property
    def arrived(self) -> bool:
        """Whether `values` will not wait."""
        return self._host is None or (self._event is not None and bool(self._event.query()))

    def _wait(self) -> None:
        if self._event is not None:
            self._event.synchronize()

    def values(self) -> list[float]:
        """The numbers, in order. Waits for the device if they have not arrived."""
        if self._host is not None:
            if not self.arrived:
                self._wait()
            for place, value in zip(self._places, self._host.tolist(), strict=True):
                self._numbers[place] = value
            self._host = None
        return [float(value) for value in self._numbers]
