"""The calls of scalers and optimizers, and zero_grad, compared with those of an earlier period (see `again`)."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from amplint.protocol.state import Moment
from runtime_guard.again import Comparing
from runtime_guard.gradients import Watch
from runtime_guard.late import learning_rate, number
from runtime_guard.put_off import Entry
from runtime_guard.scaled import found_by
from runtime_guard.scales import ScaleAccount
from runtime_guard.stepping import argument
from runtime_guard.threads import calling_frame, runs_step
from runtime_guard.windows import Account

Held = weakref.ref[Any]


@dataclass(frozen=True, eq=False)
class _Unscale:
    """An `unscale_`."""

    scaler: Held
    optimizer: Held
    inside: dict[str, int]


@dataclass(frozen=True, eq=False)
class _ScalerStep:
    """A step through a scaler. `given`: how it was called; `moments`: those of its event; `counts`: of the scaler.

    `fused`: the optimizer decides on its device whether it is skipped.
    """

    scaler: Held
    optimizer: Held
    given: tuple[Any, ...]
    moments: list[Moment]
    counts: list[int]
    account: Account | None
    scale: ScaleAccount | None
    inside: dict[str, int]
    fused: bool


@dataclass(frozen=True, eq=False)
class _Step:
    """A step of an optimizer. `alone`: not one through a scaler."""

    optimizer: Held
    watch: Watch
    alone: bool
    account: Account | None
    inside: dict[str, int]


@dataclass(frozen=True, eq=False)
class _Zero:
    """A `zero_grad` of an optimizer."""

    optimizer: Held
    account: Account | None
    inside: dict[str, int]


@dataclass(frozen=True, eq=False)
class _Update:
    """An update of a scaler, the scale after it (None for one on a device), and the moments of its event."""

    scaler: Held
    scale: float | None
    moments: list[Moment]
    account: ScaleAccount | None


class UnscaleAgain(Comparing):
    """`unscale_` of the same optimizer."""

    def known(self, args: Any, kwargs: Any, token: Any, result: Any) -> Any:
        """Both objects."""
        return None if token is None else _Unscale(weakref.ref(args[0]), weakref.ref(token[1]), self.inside())

    def same(self, known: _Unscale, args: Any, kwargs: Any) -> bool:
        """Both objects."""
        scaler, optimizer = args[0], argument(args, kwargs, 1, "optimizer")
        same = known.scaler() is scaler and known.optimizer() is optimizer
        return same and bool(scaler._enabled) and not self.touched()

    def goes(self, known: _Unscale, args: Any, kwargs: Any) -> Any:
        """The same token."""
        known.inside["unscale"] += 1
        return "unscale", argument(args, kwargs, 1, "optimizer")

    def ends(self, known: _Unscale, token: Any, result: Any) -> bool:
        """Always: what a scaler does to gradients is as it was."""
        known.inside["unscale"] -= 1
        return True


class ScalerStepAgain(Comparing):
    """`scaler.step` that is not skipped. What a fused optimizer has found on its device is kept of every step."""

    guards = True

    def known(self, args: Any, kwargs: Any, token: Any, result: Any) -> Any:
        """None where it was skipped, and among other processes."""
        recorder = self._recorder
        if token is None or not recorder.ranks.alone:
            return None
        fused = bool(getattr(token[2], "_step_supports_amp_scaling", False))
        if recorder.optimizer(token[2]) in recorder.by_hand.whole or not recorder.thread.stepped:
            return None
        if recorder.in_step.waits(token[2], recorder.optimizer(token[2])):
            return None
        counts = recorder.course.counted.scalers[recorder.scaler(args[0])]
        return _ScalerStep(
            weakref.ref(args[0]), weakref.ref(token[2]), (len(args), tuple(kwargs)), list(token[3]), counts,
            self.account_of(token[2]), self.scales_of(args[0]), self.inside(), fused,
        )  # fmt: skip

    def same(self, known: _ScalerStep, args: Any, kwargs: Any) -> bool:
        """Both objects."""
        scaler, optimizer = args[0], argument(args, kwargs, 1, "optimizer")
        same = known.scaler() is scaler and known.optimizer() is optimizer
        return same and (len(args), tuple(kwargs)) == known.given and scaler._enabled and not self.touched()

    def goes(self, known: _ScalerStep, args: Any, kwargs: Any) -> Any:
        """The same token."""
        self._recorder.thread.stepped = False
        known.inside["scaler.step"] += 1
        return "scaler.step", args[0], argument(args, kwargs, 1, "optimizer"), list(known.moments)

    def passed(self, known: _ScalerStep, times: int) -> None:
        """Counted."""
        known.counts[0] += times
        if known.scale is not None and times and not known.fused:
            known.scale.row = 0

    def ends(self, known: _ScalerStep, token: Any, result: Any) -> bool:
        """Whether the optimizer has stepped."""
        if not self._recorder.thread.stepped:
            return False
        known.counts[0] += 1
        self.stays(known)
        known.inside["scaler.step"] -= 1  # what the gradients are was seen after the optimizer's step
        return True

    def enters(self, known: _ScalerStep, over: bool) -> Iterable[Entry]:
        """The reading of the window, and a step of the scaler."""
        if known.account is not None and not over:
            yield (known.account.at_step,)
        elif known.scale is not None and over and not known.fused:
            yield known.scale.stepped, False

    def stays(self, known: _ScalerStep) -> bool:
        """Always."""
        scaler = known.scaler() if known.fused else None
        if scaler is not None:
            self._recorder.measures.run(self._recorder.numbers.scaler_stepped, scaler, None)
        return True


class StepAgain(Comparing):
    """An optimizer's step, in a scaler's or by itself."""

    mute = False

    def silent(self, args: Any, kwargs: Any) -> bool:
        """Whether it is the step of a base class."""
        return bool(self._recorder.thread.stepping)

    def known(self, args: Any, kwargs: Any, token: Any, result: Any) -> Any:
        """None for a step with a closure, or one that has dropped its gradients."""
        recorder = self._recorder
        optimizer, given, named = args
        closure = given[1] if len(given) > 1 else named.get("closure")
        name, inside = recorder.optimizer(optimizer), self.inside()
        watch = recorder.watches[name]
        scalers = (scaler for scaler, _ in recorder.scalers.living())
        if recorder.in_step.waits(optimizer, name) or (not inside["scaler.step"] and found_by(scalers, optimizer)):
            return None
        if callable(closure) or not recorder.ranks.alone or watch.empty or name in recorder.by_hand.whole:
            return None
        return _Step(
            weakref.ref(optimizer), watch, not inside["scaler.step"], self.account_of(optimizer), inside
        )  # fmt: skip

    def same(self, known: _Step, args: Any, kwargs: Any) -> bool:
        """The optimizer."""
        optimizer, given, named = args
        closure = given[1] if len(given) > 1 else named.get("closure")
        alone = not known.inside["scaler.step"]
        same = known.optimizer() is optimizer and alone is known.alone
        return same and closure is None and not (alone and self.touched())

    def goes(self, known: _Step, args: Any, kwargs: Any) -> Any:
        """The optimizer; None where torch runs no step any more."""
        optimizer, thread, frame = args[0], self._recorder.thread, calling_frame()
        if not runs_step(frame):
            return None
        thread.stepping.append((id(optimizer), id(frame)))
        if known.account is not None:
            self._recorder.put_off.value(known.account, "learning_rate", learning_rate(optimizer))
        thread.stepped = True
        known.inside["step"] += 1
        return optimizer

    def passed(self, known: _Step, times: int) -> None:
        """Noted."""
        self._recorder.thread.stepped = True

    def ends(self, known: _Step, token: Any, result: Any) -> bool:
        """Whether the gradients are still there."""
        stepping, now = self._recorder.thread.stepping, known.watch.now()
        if len(stepping) != 1 or not any(now):
            return False
        known.watch.seen = now
        known.inside["step"] -= 1
        stepping.pop()
        return True

    def enters(self, known: _Step, over: bool) -> Iterable[Entry]:
        """The reading of the window, and that it is over."""
        if known.account is not None and over:
            yield self._recorder.numbers.over, known.account
        elif known.account is not None and known.alone:
            yield (known.account.at_step,)


class UpdateAgain(Comparing):
    """`update` that leaves the scale as it is."""

    guards = True

    def known(self, args: Any, kwargs: Any, token: Any, result: Any) -> Any:
        """None if a rule about numbers has something to say of it."""
        scale = _scale_of(args[0])
        if token is None or args[0]._scale is None or not token[1]:
            return None
        account = self.scales_of(args[0])
        if account is not None and self._recorder.questions.observed(token[1][0], account.reading()):
            return None
        return _Update(weakref.ref(args[0]), scale, list(token[1]), account)

    def same(self, known: _Update, args: Any, kwargs: Any) -> bool:
        """The scaler."""
        return bool(args[0]._enabled) and len(args) == 1 and not kwargs and known.scaler() is args[0]

    def goes(self, known: _Update, args: Any, kwargs: Any) -> Any:
        """The same token."""
        return args[0], list(known.moments)

    def stays(self, known: _Update) -> bool:
        """Whether the scale is the same."""
        scaler = known.scaler()
        return scaler is not None and _scale_of(scaler) == known.scale

    def ends(self, known: _Update, token: Any, result: Any) -> bool:
        """Whether the scale is the same."""
        return _scale_of(token[0]) == known.scale

    def enters(self, known: _Update, over: bool) -> Iterable[Entry]:
        """The scale, when it is over."""
        if over and known.account is not None:
            yield self._updated, known

    def _updated(self, known: _Update) -> None:
        scaler, every = known.scaler(), self._recorder.numbers.probe_every
        scale = scaler._scale if known.scale is None and scaler is not None else known.scale
        if known.account is not None:
            self._recorder.observe(known.moments[0], known.account.updated(scale, every))


class ZeroAgain(Comparing):
    """`zero_grad` of the same optimizer."""

    def known(self, args: Any, kwargs: Any, token: Any, result: Any) -> Any:
        """None for a model's."""
        if token is None or not isinstance(args[0], Optimizer):
            return None
        return _Zero(weakref.ref(args[0]), self.account_of(args[0]), self.inside())

    def same(self, known: _Zero, args: Any, kwargs: Any) -> bool:
        """The optimizer."""
        return known.optimizer() is args[0]

    def goes(self, known: _Zero, args: Any, kwargs: Any) -> Any:
        """The same token."""
        known.inside["zero"] += 1
        return "zero"

    def ends(self, known: _Zero, token: Any, result: Any) -> bool:
        """Always."""
        known.inside["zero"] -= 1
        self._recorder.seen()
        return True

    def enters(self, known: _Zero, over: bool) -> Iterable[Entry]:
        """That the window begins again."""
        if known.account is not None and not over:
            yield (known.account.forget,)


def _scale_of(scaler: Any) -> float | None:
    """The scale of a scaler, if the host knows it."""
    scale = scaler._scale
    found = number(scale) if isinstance(scale, Tensor) else None
    return found if isinstance(found, float) else None
