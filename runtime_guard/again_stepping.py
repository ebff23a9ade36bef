"""The calls of scalers and optimizers, clips and zero_grad, compared with those of an earlier period (see `again`)."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from types import GeneratorType
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from amplint.protocol.state import Moment
from runtime_guard.again import Comparing
from runtime_guard.hooks import Replaced
from runtime_guard.late import number
from runtime_guard.normalization import learning_rate
from runtime_guard.recorder import calling_frame
from runtime_guard.scales import ScaleAccount
from runtime_guard.stepping import argument, raises_at_overflow
from runtime_guard.windows import Account


@dataclass(frozen=True, eq=False)
class _Step:
    """A step of an optimizer, the last of `names`. `given`: how it was called."""

    names: tuple[str, ...]
    given: tuple[Any, ...]
    account: Account | None
    scale: ScaleAccount | None = None


@dataclass(frozen=True, eq=False)
class _Update:
    """An update of a scaler, and the scale after it."""

    name: str
    scale: float
    account: ScaleAccount | None


@dataclass(frozen=True, eq=False)
class _Clip:
    """A clip. `tensors`: their identities; `scaled`: whether an optimizer's gradients carry a loss scale then."""

    tensors: tuple[int, ...]
    limit: float
    raises: bool
    optimizers: tuple[weakref.ref[Any], ...]
    scaled: tuple[tuple[Account | None, bool], ...]


class UnscaleAgain(Comparing):
    """`unscale_` of the same optimizer."""

    def known(self, args: Any, kwargs: Any, token: Any, result: Any) -> Any:
        """The names of both."""
        return None if token is None else (self._recorder.scaler(args[0]), self._recorder.optimizer(token[1]))

    def begins(self, known: Any, args: Any, kwargs: Any) -> Any:
        """The same token."""
        recorder, scaler, optimizer = self._recorder, args[0], argument(args, kwargs, 1, "optimizer")
        same = (recorder.scalers.of(scaler), recorder.optimizers.of(optimizer)) == known
        return (self.enter("unscale"), optimizer) if same and scaler._enabled and not self.touched() else None

    def ends(self, known: Any, token: Any, result: Any) -> bool:
        """Always: what a scaler does to gradients is as it was."""
        self.leave(token)
        return True


class ScalerStepAgain(Comparing):
    """`scaler.step` that is not skipped."""

    def known(self, args: Any, kwargs: Any, token: Any, result: Any) -> Any:
        """None where it was skipped, or a fused optimizer decides; and among other processes."""
        recorder = self._recorder
        if token is None or not recorder.ranks.alone or getattr(token[2], "_step_supports_amp_scaling", False):
            return None
        names = recorder.scaler(args[0]), recorder.optimizer(token[2])
        if names[1] in recorder.by_hand.whole:
            return None
        if not recorder.thread.stepped:
            return None
        return _Step(names, (len(args), tuple(kwargs)), self.account_of(token[2]), self.scales_of(args[0]))

    def begins(self, known: _Step, args: Any, kwargs: Any) -> Any:
        """The same token."""
        recorder, scaler, optimizer = self._recorder, args[0], argument(args, kwargs, 1, "optimizer")
        if (recorder.scalers.of(scaler), recorder.optimizers.of(optimizer)) != known.names:
            return None
        if (len(args), tuple(kwargs)) != known.given or not scaler._enabled or self.touched():
            return None
        if known.account is not None:
            self.defer(known.account.at_step)
        recorder.thread.stepped = False
        return self.enter("scaler.step"), scaler, optimizer, self.moments()

    def ends(self, known: _Step, token: Any, result: Any) -> bool:
        """Whether the optimizer has stepped."""
        recorder = self._recorder
        if not recorder.thread.stepped:
            return False
        recorder.course.counted.scalers[known.names[0]][0] += 1
        if known.scale is not None:
            self.defer(known.scale.stepped, False)
        recorder.thread.inside["scaler.step"] -= 1  # what the gradients are was seen after the optimizer's step
        return True


class StepAgain(Comparing):
    """An optimizer's step, in a scaler's or by itself."""

    def silent(self, args: Any, kwargs: Any) -> bool:
        """Whether it is the step of a base class."""
        return bool(self._recorder.thread.stepping)

    def known(self, args: Any, kwargs: Any, token: Any, result: Any) -> Any:
        """The optimizer's name; None for a step with a closure, or one that has dropped its gradients."""
        recorder = self._recorder
        optimizer, given, named = args
        closure = given[1] if len(given) > 1 else named.get("closure")
        name = recorder.optimizer(optimizer)
        if (
            callable(closure)
            or not recorder.ranks.alone
            or recorder.watches[name].empty
            or name in recorder.by_hand.whole
        ):
            return None
        return _Step((name,), (), self.account_of(optimizer))

    def begins(self, known: _Step, args: Any, kwargs: Any) -> Any:
        """The optimizer."""
        recorder, thread = self._recorder, self._recorder.thread
        optimizer, given, named = args
        closure = given[1] if len(given) > 1 else named.get("closure")
        alone = not thread.inside["scaler.step"]
        same = recorder.optimizers.of(optimizer) == known.names[0]
        if not same or closure is not None or (alone and self.touched()):
            return None
        thread.stepping.append((id(optimizer), id(calling_frame())))
        if known.account is not None:
            self.defer(known.account.note, "learning_rate", learning_rate(optimizer))
            if alone:
                self.defer(known.account.at_step)
        thread.stepped = True
        thread.inside["step"] += 1
        return optimizer

    def ends(self, known: _Step, token: Any, result: Any) -> bool:
        """Whether the gradients are still there."""
        recorder, thread = self._recorder, self._recorder.thread
        watch = recorder.watches[known.names[0]]
        now = watch.now()
        if len(thread.stepping) != 1 or not any(now):
            return False
        watch.seen = now
        thread.inside["step"] -= 1
        thread.stepping.pop()
        if known.account is not None:
            self.defer(recorder.numbers.over, known.account)
        return True


class UpdateAgain(Comparing):
    """`update` that leaves the scale as it is."""

    def known(self, args: Any, kwargs: Any, token: Any, result: Any) -> Any:
        """The scaler's name, its scale, and the moments of the update."""
        scale = _scale_of(args[0])
        if token is None or scale is None:
            return None
        return _Update(self._recorder.scaler(args[0]), scale, self.scales_of(args[0]))

    def begins(self, known: _Update, args: Any, kwargs: Any) -> Any:
        """The same token."""
        recorder, scaler = self._recorder, args[0]
        if len(args) > 1 or kwargs or not scaler._enabled:
            return None
        if recorder.scalers.of(scaler) != known.name or self.touched():
            return None
        return scaler, self.moments()

    def ends(self, known: _Update, token: Any, result: Any) -> bool:
        """Whether the scale is the same."""
        scaler, moments = token
        if _scale_of(scaler) != known.scale:
            return False
        if known.account is not None:
            self.defer(self._updated, known.account, known.scale, moments[0])
        return True

    def _updated(self, account: ScaleAccount, scale: float, moment: Moment) -> None:
        self._recorder.observe(moment, account.updated(scale, self._recorder.numbers.probe_every))


class ClipAgain(Comparing):
    """A clip of the same tensors to the same limit."""

    def read(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """A generator of parameters is read; one that holds nothing any more is left."""
        parameters = argument(args, kwargs, 0, "parameters")
        if not isinstance(parameters, GeneratorType) or parameters.gi_frame is None:
            return args, kwargs
        read = list(parameters)
        return ((read, *args[1:]), kwargs) if args else (args, {**kwargs, "parameters": read})

    def known(self, args: Any, kwargs: Any, token: Any, result: Any) -> Any:
        """None for a limit that is not a plain number, or of gradients that the last backward did not reach."""
        recorder = self._recorder
        if token is None or not token[1]:
            return None
        limit, raises = _limits(args, kwargs)
        names = {recorder.optimizer(optimizer) for optimizer in token[1]}
        if not isinstance(limit, int | float) or not names & recorder.reached:
            return None
        scaled = [(self.account_of(one), recorder.carries_scale(one)) for one in token[1]]
        return _Clip(_ids(token[2]), limit, bool(raises), tuple(map(weakref.ref, token[1])), tuple(scaled))

    def begins(self, known: _Clip, args: Any, kwargs: Any) -> Any:
        """The same token, with the list of what is clipped."""
        limit, raises = _limits(args, kwargs)
        handed = argument(args, kwargs, 0, "parameters")
        if type(limit) is not type(known.limit) or limit != known.limit or bool(raises) is not known.raises:
            return None
        optimizers = [one for held in known.optimizers if (one := held()) is not None]
        if len(optimizers) < len(known.optimizers) or not isinstance(handed, list | Tensor) or self.touched():
            return None
        if _ids(handed) != known.tensors:
            return None
        token = self.enter("clip"), optimizers, handed
        return Replaced(token, (handed, *args[1:]) if args else args, kwargs)

    def ends(self, known: _Clip, token: Any, result: Any) -> bool:
        """Always; the norm is noted."""
        if self._recorder.measures.on and isinstance(result, Tensor) and result.numel() == 1:
            norm = number(result)
            for account, scaled in known.scaled if isinstance(norm, float) else ():
                if account is not None:
                    self.defer(account.note_norm, norm, scaled)
        self.leave(token)
        return True


class ZeroAgain(Comparing):
    """`zero_grad` of the same optimizer."""

    def known(self, args: Any, kwargs: Any, token: Any, result: Any) -> Any:
        """Its name; None for a model's."""
        if token is None or not isinstance(args[0], Optimizer):
            return None
        return _Step((self._recorder.optimizer(args[0]),), (), self.account_of(args[0]))

    def begins(self, known: _Step, args: Any, kwargs: Any) -> Any:
        """The same token."""
        recorder = self._recorder
        if recorder.optimizers.of(args[0]) != known.names[0] or self.touched():
            return None
        if known.account is not None:
            self.defer(known.account.forget)
        return self.enter("zero")

    def ends(self, known: _Step, token: Any, result: Any) -> bool:
        """Always."""
        self.leave(token)
        return True


def _scale_of(scaler: Any) -> float | None:
    """The scale of a scaler, if the host knows it."""
    scale = scaler._scale
    found = number(scale) if isinstance(scale, Tensor) else None
    return found if isinstance(found, float) else None


def _limits(args: Any, kwargs: Any) -> tuple[Any, Any]:
    limit = argument(args, kwargs, 1, "max_norm") or kwargs.get("clip_value")
    return limit, raises_at_overflow(args, kwargs)


def _ids(handed: Tensor | list[Tensor]) -> tuple[int, ...]:
    return (id(handed),) if isinstance(handed, Tensor) else tuple(map(id, handed))
