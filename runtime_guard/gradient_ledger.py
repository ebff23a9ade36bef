"""The multiplier that was really applied to a window's gradient, measured on a few of its values.

Gradients add, so a few values of one parameter's gradient are enough to follow what becomes of all of it. Before and
after each backward at most `VALUES` of them are copied from up to two parameters. Their difference is what this
micro-step put in; divided by the weight that the graph shows (loss scale included) it is the gradient of that
micro-batch's mean, and the mean of those over all elements of the window is the *reference*: the gradient of the
effective batch, without a second forward. What the optimizer then gets, compared with the reference, is the multiplier:
N for an undivided loss, 1 for a right window, 1/65536 for an unscale too many, anything for a clip.

A change between two backward passes is a *touch*, named after the call that did it.
Dropout and batch norm do not disturb it: it measures the very passes that ran.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.optim import Optimizer

from amplint.protocol.readings import Touch
from runtime_guard.late import Number, number

VALUES = 128
PARAMETERS = 2
UNSEEN = "code between the backward passes"


@dataclass(frozen=True)
class Measure:
    """What a ledger found at a step: dot products, each a number that may still be on a device.

    `a` is the gradient that the optimizer got, `r` the reference, both as sampled.
    """

    a_r: Number
    r_r: Number
    a_a: Number
    touches: tuple[tuple[str, int, Number], ...] = ()


@dataclass
class GradientLedger:
    """The sampled gradient of one optimizer's open window. It keeps nothing of the user's alive."""

    optimizer: weakref.ref[Optimizer]
    chosen: list[weakref.ref[Tensor]] = field(default_factory=list)
    seen: Tensor | None = None
    reference: Tensor | None = None
    shares: list[Number] = field(default_factory=list)
    touches: list[tuple[str, int, Number]] = field(default_factory=list)
    micro_steps: int = 0
    broken: bool = False

    def before_backward(self) -> None:
        """Takes what is there before a backward; a change since the last look is a touch of unseen code."""
        self.look(UNSEEN)

    def after_backward(self, weight: Number | None, share: Number | None, begins: bool) -> None:
        """Takes what a backward has added. `weight`: of its mean, scale included. `share`: its number of elements."""
        self.micro_steps += begins
        if not self.chosen and (optimizer := self.optimizer()) is not None:
            self.chosen = [weakref.ref(parameter) for parameter in _chosen(optimizer)]
        before, now = self.seen, self._sample()
        self.seen = now
        if now is None or weight is None or share is None or not _positive(weight):
            self.broken = True
            return
        made = now if before is None else now - before
        part = made * (share / weight)
        self.reference = part if self.reference is None else self.reference + part
        self.shares.append(share)

    def look(self, what: str) -> None:
        """Compares the gradient with the last look; what has changed is put down to `what`."""
        if not self.chosen:
            return
        before, now = self.seen, self._sample()
        self.seen = now
        if before is None or now is None or self.micro_steps == 0:
            return
        if now.device.type == "cpu" and torch.equal(before, now):
            return
        factor = number((now @ before) / (before @ before))
        self.touches.append((what, self.micro_steps, factor))

    def close(self) -> Measure | None:
        """What the optimizer gets, against the reference; None when that could not be followed."""
        if self.broken or self.reference is None or self.seen is None:
            return None
        scale = getattr(self.optimizer(), "grad_scale", None)  # a fused optimizer is handed the scale with the step
        a = self.seen if scale is None else self.seen / scale
        r = self.reference / _sum(self.shares)
        return Measure(number(a @ r), number(r @ r), number(a @ a), tuple(self.touches))

    def forget(self) -> None:
        """Begins a window: the gradients were used or erased."""
        self.reference = None
        self.seen = None
        self.shares = []
        self.touches = []
        self.micro_steps = 0
        self.broken = False

    def _sample(self) -> Tensor | None:
        """A copy of the sampled values; None while a chosen parameter has no gradient."""
        parameters = [parameter for reference in self.chosen if (parameter := reference()) is not None]
        found = [_values(parameter.grad) for parameter in parameters if parameter.grad is not None]
        if not found or len(found) < len(self.chosen):
            return None
        together = torch.cat(found)  # a copy
        return together.to(torch.float64 if together.device.type == "cpu" else torch.float32)


def multiplier(a_r: float, r_r: float) -> float | None:
    """The gradient that was stepped, in units of the reference."""
    return a_r / r_r if r_r > 0 else None


def error(a_r: float, r_r: float, a_a: float) -> float | None:
    """How far the stepped gradient is from the reference, relative to the reference."""
    return float(max(a_a - 2 * a_r + r_r, 0.0) / r_r) ** 0.5 if r_r > 0 else None


def touched(touches: Sequence[tuple[str, int]], factors: Sequence[float]) -> tuple[Touch, ...]:
    """The touches that changed something."""
    pairs = zip(touches, factors, strict=True)
    return tuple(Touch(what, step, factor) for (what, step), factor in pairs if abs(factor - 1) > 1e-6)


def _positive(weight: Number) -> bool:
    return isinstance(weight, Tensor) or weight > 0


def _sum(shares: Sequence[Number]) -> Number:
    found: Number = 0.0
    for share in shares:
        found = found + share
    return found


def _values(gradient: Tensor) -> Tensor:
    """A view of the sampled values."""
    flat = gradient.detach().reshape(-1)
    stride = flat.numel() // VALUES
    return flat[: stride * VALUES : stride] if stride > 1 else flat[:VALUES]


def _chosen(optimizer: Optimizer) -> list[Tensor]:
    """The parameters to sample: the last ones that have a plain dense gradient, so that no large one is copied."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    able = [parameter for parameter in reversed(parameters) if _able(parameter.grad)]
    like = [one for one in able if one.device == able[0].device and one.dtype == able[0].dtype]
    return like[:PARAMETERS]


def _able(gradient: Tensor | None) -> bool:
    return (
        gradient is not None
        and type(gradient) is Tensor
        and gradient.layout is torch.strided
        and gradient.is_floating_point()
        and gradient.is_contiguous()
    )
