"""A window's gradient against that of its effective batch, for tests.

The window is run by the user's own code, up to and including its step if it has one; the gradient is taken when the
optimizer is about to use it. The reference is made with the user's own loss from the same weights: of one batch that
holds all micro-batches, or, where that could not be the same (dropout or batch norm is active, sizes differ), of each
micro-batch with the random numbers that it had, weighted by its number of elements. Afterwards weights, buffers,
gradients, optimizer state and random numbers are what they were.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook

from runtime_guard.guarding import guard
from runtime_guard.normalization import Normalization

Gradient = dict[str, Tensor]

_NOT_OF_A_WINDOW = "missing-step"  # the step need not be part of it


@dataclass(frozen=True)
class Comparison:
    """A window's gradient against that of the full batch.

    `multiplier`: the factor that fits best. `difference`: the norm of what is between them, in units of the full
    batch's norm; `shape`: the same after the factor is taken out. `how`: how the reference was made. `reasons`: what
    the guard says of the window.
    """

    multiplier: float
    difference: float
    shape: float
    how: str
    reasons: tuple[str, ...] = ()

    def text(self) -> str:
        """By how much they differ, and why."""
        lines = [
            f"the window's gradient is {self.multiplier:.6g} times that of the full effective batch ({self.how}); "
            f"they differ by {self.difference:.3g} of its norm, and by {self.shape:.3g} once that factor is taken out"
        ]
        return "\n".join([*lines, *(f"  {reason}" for reason in self.reasons)])


def assert_window_matches_full_batch(
    model: nn.Module,
    window: Callable[[Sequence[Any]], object],
    micro_batches: Sequence[Any],
    loss: Callable[[Any], Tensor],
    *,
    scaler: torch.amp.GradScaler | None = None,
    tolerance: float = 1e-4,
) -> Comparison:
    """The comparison, if the gradient of the window is that of the full effective batch.

    `window` runs one window of training on `micro_batches`: forward, backward, unscale, clip and, if it likes, step.
    `loss` is the mean loss of one batch that has the form of a micro-batch; it calls the same `model`. Raises
    AssertionError that says by how much the two differ and why, if the difference exceeds `tolerance` (relative to
    the norm of the full batch's gradient; float32 needs about 1e-6), and ValueError if the window leaves no gradient.
    """
    with _untouched(model, scaler):
        ran = _Ran()
        violations, measured = _run(model, window, micro_batches, ran, scaler)
        if not ran.gradient:
            raise ValueError("the window has left no gradient: it has to run at least one backward")
        with _untouched(model, scaler):
            _put_back(model, ran.weights)
            reference, how = _reference(model, micro_batches, loss, ran.states)
    reasons = (*violations, *measured)
    found = _compared(ran.gradient, reference, how, reasons)
    if not found.difference <= tolerance:
        raise AssertionError(found.text())
    return found


@dataclass
class _Ran:
    """What is kept of the window's run: the gradient, the random state before each forward, the weights before it."""

    gradient: Gradient = field(default_factory=dict)
    states: list[Tensor] = field(default_factory=list)
    weights: dict[str, Tensor] = field(default_factory=dict)
    optimizers: list[tuple[Optimizer, dict[str, Any]]] = field(default_factory=list)


def _run(
    model: nn.Module,
    window: Callable[[Sequence[Any]], object],
    micro_batches: Sequence[Any],
    ran: _Ran,
    scaler: torch.amp.GradScaler | None,
) -> tuple[list[str], list[str]]:
    """Runs the window; what the guard says of it, and the weights that it measured."""
    ran.weights = {name: value.detach().clone() for name, value in model.state_dict().items()}

    def take(optimizer: Optimizer, args: object, kwargs: object) -> None:
        if not ran.gradient:
            ran.gradient.update(_gradient(model, getattr(optimizer, "grad_scale", None)))
        ran.optimizers.append((optimizer, copy.deepcopy(optimizer.state_dict())))

    hooks = [
        register_optimizer_step_pre_hook(take),
        model.register_forward_pre_hook(lambda *_: ran.states.append(torch.get_rng_state())),
    ]
    watching = guard(mode="record")
    try:
        with watching:
            window(micro_batches)
            if not ran.gradient:
                ran.gradient.update(_gradient(model, _carried(watching, scaler)))
    finally:
        for hook in hooks:
            hook.remove()
        for optimizer, state in reversed(ran.optimizers):
            optimizer.load_state_dict(state)
    said = [f"{one.code}: {one.message}" for one in watching.violations if one.code != _NOT_OF_A_WINDOW]
    return said, _told(watching.recorder.numbers)


def _carried(watching: guard, scaler: torch.amp.GradScaler | None) -> Tensor | None:
    """The loss scale that is still on the gradients of a window that did not step."""
    stages = scaler._per_optimizer_states.values() if scaler is not None and scaler.is_enabled() else ()
    unscaled = any(state["stage"].name != "READY" for state in stages)
    return None if scaler is None or not scaler.is_enabled() or unscaled else scaler._scale


def _told(numbers: Normalization) -> list[str]:
    """The weights of the micro-batches, and what else has multiplied the gradient, as far as it was measured."""
    lines: list[str] = []
    for account in numbers.opened:
        reading = account.window.reading() if account.window.steps else account.latest
        main = reading.main if reading is not None else None
        if main is not None:
            lines.append(f"weights of the micro-batches: {_listed(main.weights)}; elements: {_listed(main.counts)}")
        lines += [
            f"{what} multiplied the gradient by {_listed([figure.last])}"
            for what, figure in account.touches.items()
            if what != "unscale"
        ]
    return lines


def _listed(values: Sequence[float | None]) -> str:
    return ", ".join("?" if value is None else f"{value:.6g}" for value in values)


def _gradient(model: nn.Module, scale: Tensor | None = None) -> Gradient:
    """A copy of all gradients of a model, in float32 or better, without a loss scale."""
    found = {name: value.grad.detach() for name, value in model.named_parameters() if value.grad is not None}
    wide = {name: value.to(torch.promote_types(value.dtype, torch.float32), copy=True) for name, value in found.items()}
    return wide if scale is None else {name: value / scale.to(value.device) for name, value in wide.items()}


def _reference(
    model: nn.Module, micro_batches: Sequence[Any], loss: Callable[[Any], Tensor], states: Sequence[Tensor]
) -> tuple[Gradient, str]:
    """The gradient of the full batch, and how it was made."""
    depends = any(module.training and _depends_on_the_batch(module) for module in model.modules())
    whole = None if depends else _joined(micro_batches)
    model.zero_grad(set_to_none=True)
    if whole is not None:
        loss(whole).backward()  # type: ignore[no-untyped-call]
        return _gradient(model), "all micro-batches in one"
    return _by_micro_batch(model, micro_batches, loss, states), "micro-batch by micro-batch, weighted by their elements"


def _depends_on_the_batch(module: nn.Module) -> bool:
    """Whether what a layer computes depends on how the batch was cut: by chance, or by the batch's own statistics."""
    if isinstance(module, nn.modules.batchnorm._BatchNorm):
        return True
    chances = (getattr(module, "p", 0), getattr(module, "dropout", 0))
    return any(isinstance(chance, float) and chance > 0 for chance in chances)


def _by_micro_batch(
    model: nn.Module, micro_batches: Sequence[Any], loss: Callable[[Any], Tensor], states: Sequence[Tensor]
) -> Gradient:
    """The mean over all elements of the window, from the mean of each micro-batch and its number of elements."""
    total: Gradient = {}
    elements = 0.0
    for index, batch in enumerate(micro_batches):
        if index < len(states):
            torch.set_rng_state(states[index])
        model.zero_grad(set_to_none=True)
        numbers = Normalization()
        mean = loss(batch)
        numbers.before_backward([mean])
        mean.backward()  # type: ignore[no-untyped-call]
        terms = numbers.after_backward([]).terms
        counts = [term.elements.count for term in terms if term.elements.count is not None]
        count = float(counts[0]) if counts else 1.0
        elements += count
        for name, value in _gradient(model).items():
            total[name] = total[name] + value * count if name in total else value * count
    return {name: value / elements for name, value in total.items()}


def _joined(batches: Sequence[Any]) -> Any:
    """Batches of one form as one batch, joined in their first dimension; None where that is not possible."""
    first = batches[0]
    if isinstance(first, Tensor):
        same = all(isinstance(batch, Tensor) and batch.shape[1:] == first.shape[1:] for batch in batches)
        return torch.cat(list(batches)) if same and first.dim() else None
    if isinstance(first, Mapping):
        parts = {key: _joined([batch[key] for batch in batches]) for key in first}
        return None if any(part is None for part in parts.values()) else parts
    if isinstance(first, (list, tuple)):
        joined = [_joined(part) for part in zip(*batches, strict=True)]
        return None if any(part is None for part in joined) else type(first)(joined)
    return first if all(batch == first for batch in batches) else None


def _compared(window: Gradient, reference: Gradient, how: str, reasons: tuple[str, ...]) -> Comparison:
    """The two gradients compared in float64; a parameter that only one of them has counts as zero in the other."""
    names = sorted({*window, *reference})
    a, r = (_flat(gradient, names, window, reference) for gradient in (window, reference))
    norm = float(r @ r)
    factor = float(a @ r) / norm if norm else float("nan")
    difference = float((a - r).norm()) / norm**0.5 if norm else float("nan")
    shape = float((a - factor * r).norm()) / (abs(factor) * norm**0.5) if norm and factor else float("nan")
    return Comparison(factor, difference, shape, how, reasons)


def _flat(gradient: Gradient, names: Sequence[str], *others: Gradient) -> Tensor:
    def of(name: str) -> Tensor:
        known = next(other[name] for other in (gradient, *others) if name in other)
        return gradient[name] if name in gradient else torch.zeros_like(known)

    return torch.cat([of(name).double().cpu().flatten() for name in names])


def _put_back(model: nn.Module, values: Mapping[str, Tensor]) -> None:
    with torch.no_grad():
        for name, value in model.state_dict().items():
            value.copy_(values[name])


@contextmanager
def _untouched(model: nn.Module, scaler: torch.amp.GradScaler | None) -> Iterator[None]:
    """Weights, buffers, gradients, the scaler and random numbers are afterwards what they were."""
    values = {name: value.detach().clone() for name, value in model.state_dict().items()}
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    scaling = copy.deepcopy(scaler.state_dict()) if scaler is not None else None
    for parameter in model.parameters():
        parameter.grad = None
    with torch.random.fork_rng():
        try:
            yield
        finally:
            _put_back(model, values)
            for name, parameter in model.named_parameters():
                parameter.grad = gradients[name]
            if scaler is not None and scaling:
                scaler.load_state_dict(scaling)
