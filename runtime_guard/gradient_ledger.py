"""The multiplier that was really applied to a window's gradient, measured on a few of its values.

Gradients add, so a few values of one parameter's gradient are enough to follow what becomes of all of it. Before and
after each backward at most `VALUES` of them are copied from up to two parameters. Their difference is what this
micro-step put in; divided by the weight that the graph shows (loss scale included) it is the gradient of that
micro-batch's mean, and the mean of those over all elements of the window is the *reference*: the gradient of the
effective batch, without a second forward. What the optimizer then gets, compared with the reference, is the multiplier:
N for an undivided loss, 1 for a right window, 1/65536 for an unscale too many, anything for a clip.

A change between two backward passes is a *touch*, named after the call that did it.
Dropout and batch norm do not disturb it: it measures the very passes that ran.

Of an optimizer that steps copies of the parameters, or whose gradients are taken away at once, the values are those
that each backward gives and those that are stepped in the end (`gathering`): a row for each, and nothing between. Then
it is also asked whether what is stepped is a sum of these rows, and whether of all of them.

A look only copies the values, as a *row*. All that is asked in the end are sums of products of rows, so that on a CPU
the product of all rows with all rows, made once at the step, answers everything.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.optim import Optimizer

from runtime_guard.gathering import Gathering, Row, lost
from runtime_guard.held import Held
from runtime_guard.late import Number, number
from runtime_guard.owners import GIVEN
from runtime_guard.products import added, along_of, apart, factors_of, multiple

VALUES = 128
PARAMETERS = 2
MOST = 32
UNSEEN = "code between the backward passes"
WAY = "the way into what is stepped"
ROUNDING = 5e-3
"""So much may sums and copies in 16 bits differ."""


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
    """The sampled gradient of one optimizer's open window. It keeps nothing of the user's alive.

    `factors`: how often each row is in the reference, not yet divided by the sum of `shares`. Rows are known by their
    number. `marks`: the identity and version of what was looked at last. `kept`: how many of the last
    rows are in what is stepped. `clipped`: what was not gathered yet has met a clip, which may leave next to nothing of
    it.
    """

    optimizer: Living
    chosen: list[weakref.ref[Tensor]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    factors: list[Number] = field(default_factory=list)
    seen: int | None = None
    marks: tuple[object, ...] = ()
    shares: list[Number] = field(default_factory=list)
    touches: list[tuple[str, int, int, int]] = field(default_factory=list)
    factored: list[tuple[str, int, Number]] = field(default_factory=list)
    micro_steps: int = 0
    broken: bool = False
    bare: bool = False
    gathering: Gathering | None = None
    held: Held | None = None
    kept: int = 0
    clipped: bool = False

    def before_backward(self, through: bool = False) -> None:
        """Takes what is there before a backward; a change since the last look is a touch of unseen code. `through`: a
        framework back-propagates."""
        optimizer = self.optimizer()
        if not self.micro_steps and optimizer is not None:
            self._apart(optimizer, through)
        if self.gathering is not None:
            self.gathering.listen()
        else:
            self.look(UNSEEN)

    def _apart(self, optimizer: Optimizer, through: bool) -> None:
        """A window begins: whether what backward passes give, and what is stepped, are looked at apart. Of the first
        backward of a framework's it is not known: they are, unless it leaves gradients (`after_backward`)."""
        unknown = through and not self.chosen and not self.bare
        if not (unknown or self.bare or GIVEN.exchanged(optimizer)):
            self.gathering = None
            return
        self.gathering = self.gathering or Gathering(_view)
        self.gathering.choose(optimizer, PARAMETERS)

    def after_backward(self, weight: Number | None, share: Number | None, begins: bool) -> None:
        """Takes what a backward has added. `weight`: of its mean, scale included. `share`: its number of elements."""
        self.micro_steps += begins
        if not self.chosen and (optimizer := self.optimizer()) is not None:
            self._choose(optimizer)
        if self.gathering is not None:
            self._gather(self.gathering.heard(), weight, share)
            return
        before, now = self.seen, self._sample()
        if now is None or weight is None or share is None or not _positive(weight):
            self.broken = True
            return
        factor = share / weight
        self.factors[now] = self.factors[now] + factor
        if before is not None:
            self.factors[before] = self.factors[before] - factor
        self.shares.append(share)
        if len(self.rows) > MOST:
            self._fold()

    def _choose(self, optimizer: Optimizer) -> None:
        """The parameters to sample, after a backward; where it has left no gradient, what it gives is listened to."""
        self.chosen = [weakref.ref(parameter) for parameter in _chosen(optimizer)]
        self.bare = all(parameter.grad is None for parameter in GIVEN.filled(optimizer))
        if self.gathering is not None and not (self.bare or GIVEN.exchanged(optimizer)):
            self.gathering.stop()
            self.gathering = None

    def _gather(self, row: Row | None, weight: Number | None, share: Number | None) -> None:
        """Takes what one backward has given."""
        if row is None or weight is None or share is None or not _positive(weight) or len(self.rows) >= MOST:
            self.broken = True
            return
        self.rows.append(row)
        self.factors.append(share / weight)
        self.shares.append(share)

    def over(self, reached: bool) -> None:
        """A backward is over: what was listened to and is not asked for is left."""
        if self.gathering is not None and not reached:
            self.gathering.stop()

    def divided(self, by: float) -> None:
        """The gradients were divided below the criteria."""
        self.factors = [factor * by for factor in self.factors]

    def look(self, what: str) -> None:
        """Compares the gradient with the last look; what has changed is put down to `what`."""
        if self.gathering is not None and what == "clip" and (optimizer := self.optimizer()) is not None:
            self.clipped = self.clipped or any(one.grad is not None for one in GIVEN.filled(optimizer))
        if self.gathering is not None or not self.chosen or self._same():
            return
        before, now = self.seen, self._sample()
        if before is None or now is None or self.micro_steps == 0:
            return
        self.touches.append((what, self.micro_steps, before, now))

    def share(self) -> None:
        """Breaks where the gradient is not as at the last look: it was put together with what other ranks have."""
        self.broken = self.broken or self.gathering is not None or not self._same()

    def reduced(self, handed: Tensor) -> bool:
        """Breaks where a tensor that is reduced over the ranks may hold gradients. Returns whether it is one."""
        gradients = [one for one in self._gradients() if one is not None] if self.micro_steps else []
        is_one = any(one is handed for one in gradients)
        self.broken = self.broken or is_one or (bool(gradients) and handed.numel() >= max(map(Tensor.numel, gradients)))
        return is_one

    def factor(self) -> float | None:
        """The one number that all sampled values were multiplied by since the last look; None if it is not one, or if
        it is not known without waiting."""
        if self.seen is None or self.broken:
            return None
        gradients = [held.grad for reference in self.chosen if (held := reference()) is not None]
        now = [_view(one) for one in gradients if one is not None and one.is_cpu]
        before = self.rows[self.seen]
        if len(now) < len(before) or [len(one) for one in now] != [len(one) for one in before]:
            return None
        new, old = torch.cat(now).double(), torch.cat(before).double()
        square = float(old @ old)
        found = float(new @ old) / square if square > 0 else 0.0
        return found if found > 0 and torch.allclose(new, old * found, rtol=1e-5, atol=0.0) else None

    def altered(self) -> bool:
        """Whether a value has changed since the last look, and no version has. Values of a device are not read."""
        if self.seen is None or self.broken or self._marks() != self.marks:
            return False
        first, known = self._gradients()[0], self.rows[self.seen][0]
        if first is None or not first.is_cpu or first.dtype is not known.dtype:
            return False
        return not torch.allclose(_view(first), known, rtol=0.0, atol=0.0, equal_nan=True)

    def _gradients(self) -> list[Tensor | None]:
        return [held.grad for reference in self.chosen if (held := reference()) is not None]

    def _marks(self) -> tuple[object, ...]:
        return tuple([one if one is None else (id(one), one._version) for one in self._gradients()])

    def close(self) -> Measure | None:
        """What the optimizer gets, against the reference; None when that could not be followed."""
        self.held = None
        if self.gathering is not None:
            taken = self.gathering.stepped() if self.rows and not self.broken else None
            return self._gathered(taken) if taken is not None else None
        if self.broken or self.seen is None or not self.shares:
            return None
        scale = getattr(self.optimizer(), "grad_scale", None)  # a fused optimizer is handed the scale with the step
        by = 1.0 if scale is None else number(scale)
        shares = _sum(self.shares)
        if self.rows[0][0].device.type != "cpu":
            return self._on_device(self.seen, shares, by)
        product = self._products()
        a = product[self.seen]
        factors = [(at, float(factor) / float(shares)) for at, factor in enumerate(self.factors) if factor]
        a_r = sum([factor * a[at] for at, factor in factors])
        r_r = sum([factor * other * product[at][to] for at, factor in factors for to, other in factors])
        return Measure(a_r / by, r_r, a[self.seen] / by / by, (*self.factored, *factors_of(self.touches, product)))

    def _gathered(self, taken: Row) -> Measure | None:
        """The same of what was gathered. None if it is another thing than what this window's backward passes gave."""
        rows = [torch.cat(row) for row in self.rows]
        a, whole = torch.cat(taken).to(rows[0].dtype), added(rows)
        if not a.is_cpu:
            return self._gathered_on_device(rows, a, multiple(whole, a))
        along = along_of(whole, a)
        missing = lost(rows, a) if len(rows) > 1 and not along and not self.clipped else 0
        if missing is None:
            self.held = Held.OTHER
            return None
        self.kept = len(rows) - missing
        if not self.clipped:
            self.held = Held.WHOLE if not missing else Held.PART if missing + 1 < len(rows) else Held.LAST
        kept = zip(rows[missing:], self.factors[missing:], strict=True)
        r = added([row * factor for row, factor in kept]) / _sum(self.shares[missing:])
        way = [(WAY, self.micro_steps, number(a @ whole / (whole @ whole)))] if along else []
        way = [touch for touch in way if abs(float(touch[2]) - 1) > ROUNDING]
        return Measure(number(a @ r), number(r @ r), number(a @ a), tuple(way))

    def _gathered_on_device(self, rows: list[Tensor], a: Tensor, way: Tensor) -> Measure:
        """The same where numbers are tensors: NaN where it is another thing."""
        r = added([row * factor for row, factor in zip(rows, self.factors, strict=True)]) / _sum(self.shares)
        return Measure((a @ r) * (way / way), r @ r, a @ a, ((WAY, self.micro_steps, way),))

    def _on_device(self, seen: int, shares: Number, by: Number) -> Measure:
        """The same where numbers are tensors, and each operation a kernel."""
        rows = [torch.cat(row).float() for row in self.rows]
        r = added([row * factor for row, factor in zip(rows, self.factors, strict=True)]) / shares
        a = rows[seen] / by
        return Measure(a @ r, r @ r, a @ a, (*self.factored, *apart(self.touches, rows)))

    def forget(self) -> None:
        """Begins a window: the gradients were used or erased."""
        if self.gathering is not None:
            self.gathering.stop()
        if self.rows or self.micro_steps or self.broken:
            self.rows, self.factors, self.shares, self.touches, self.factored = [], [], [], [], []
            self.micro_steps = 0
            self.broken = False
        self.seen, self.marks, self.clipped = None, (), False

    def _products(self) -> list[list[float]]:
        """The product of every row with every row."""
        together = torch.cat([part for row in self.rows for part in row]).view(len(self.rows), -1).double()
        found: list[list[float]] = (together @ together.T).tolist()
        return found

    def _fold(self) -> None:
        """Makes one row of all that is in the reference so far, and another of what was seen last."""
        assert self.seen is not None
        on_host = self.rows[0][0].device.type == "cpu"
        wide = [tuple(part.double() if on_host else part.float() for part in row) for row in self.rows]
        self.factored += (
            factors_of(self.touches, self._products())
            if on_host
            else apart(self.touches, [torch.cat(row) for row in wide])
        )
        parts = zip(*wide, strict=True)
        made = [added([part * factor for part, factor in zip(column, self.factors, strict=True)]) for column in parts]
        self.rows, self.factors, self.touches = [tuple(made), wide[self.seen]], [1.0, 0.0], []
        self.seen = 1

    def _sample(self) -> int | None:
        """The number of a new row of sampled values; None while a chosen parameter has no gradient."""
        self.seen = None
        gradients = [held.grad for reference in self.chosen if (held := reference()) is not None]
        found = tuple([_values(gradient) for gradient in gradients if gradient is not None])
        if not found or len(found) < len(self.chosen):
            return None
        if self.rows and [part.shape for part in self.rows[-1]] != [part.shape for part in found]:
            return None  # of a sharded parameter the gradient may be whole before it is a shard
        if self.rows and self.rows[0][0].dtype is not found[0].dtype:
            found = tuple([part.to(self.rows[0][0].dtype) for part in found])
        self.marks = tuple([(id(one), one._version) for one in gradients if one is not None])
        self.seen = len(self.rows)
        self.rows.append(found)
        self.factors.append(0.0)
        return self.seen

    def _same(self) -> bool:
        """Whether nothing has changed since the last look: no version, and none of the values of one parameter, as
        neither `scaler.unscale_` nor an edit of `.data` shows in a version. Values of a device are not looked at."""
        if self.seen is None:
            return False
        gradients = [held.grad for reference in self.chosen if (held := reference()) is not None]
        if self.marks != tuple([one if one is None else (id(one), one._version) for one in gradients]):
            return False
        first, known = gradients[0], self.rows[self.seen][0]
        if first is None or first.device.type != "cpu":
            return False
        return torch.equal(_view(first), known) if known.dtype is first.dtype else False


def _positive(weight: Number) -> bool:
    return isinstance(weight, Tensor) or weight > 0


def _sum(shares: Sequence[Number]) -> Number:
    found: Number = 0.0
    for share in shares:
        found = found + share
    return found


def _view(gradient: Tensor) -> Tensor:
    """A view of the sampled values."""
    if gradient.requires_grad:
        gradient = gradient.detach()
    count = gradient.numel()
    stride = max(count // VALUES, 1)
    if gradient.is_contiguous():  # one call instead of two
        return gradient.as_strided((min(VALUES, count),), (stride,))
    return gradient.reshape(-1)[: stride * VALUES : stride]


def _values(gradient: Tensor) -> Tensor:
    """A copy of the sampled values."""
    return _view(gradient).clone()


class Living:
    """Optimizers that step the same parameters, held weakly: the first of them that lives."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._held = [weakref.ref(optimizer)]

    def add(self, optimizer: Optimizer) -> None:
        """One more."""
        self._held = [*(held for held in self._held if held() is not None), weakref.ref(optimizer)]

    def __call__(self) -> Optimizer | None:
        """The first that lives."""
        for held in self._held:
            if (optimizer := held()) is not None:
                return optimizer
        return None


def _chosen(optimizer: Optimizer) -> list[Tensor]:
    """The parameters to sample: the last ones that have a plain dense gradient, so that no large one is copied. None of
    an optimizer that steps copies: what backward passes fill is not what it gets."""
    if GIVEN.exchanged(optimizer):
        return []
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
