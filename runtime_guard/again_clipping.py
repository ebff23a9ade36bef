"""Clips, compared with those of an earlier period (see `again`)."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from runtime_guard.again import Comparing
from runtime_guard.clipping import raises_at_overflow
from runtime_guard.late import number
from runtime_guard.stepping import argument
from runtime_guard.windows import Account


@dataclass(frozen=True, eq=False)
class _Clip:
    """A clip. `tensors`: their identities; `scales`: the loss scale that an optimizer's gradients carry then."""

    tensors: tuple[int, ...]
    limit: float
    raises: bool
    optimizers: tuple[weakref.ref[Any], ...]
    scales: tuple[tuple[Account, float], ...]
    inside: dict[str, int]


class ClipAgain(Comparing):
    """A clip of the same tensors to the same limit."""

    owned = False

    def known(self, args: Any, kwargs: Any, token: Any, result: Any) -> Any:
        """None for a limit that is not a plain number, or of gradients that the last backward did not reach."""
        recorder = self._recorder
        if token is None or not token[1]:
            return None
        limit, raises = _limits(args, kwargs)
        names = {recorder.optimizer(optimizer) for optimizer in token[1]}
        if not isinstance(limit, int | float) or not names & recorder.reached:
            return None
        scales: list[tuple[Account, float]] = []
        for one in token[1]:
            account = self.account_of(one)
            scale = account.window.loss_scale if account and recorder.carries_scale(one) else 1.0
            scales += [(account, scale)] if account and scale else []
        return _Clip(
            _ids(token[2]), limit, bool(raises), tuple(map(weakref.ref, token[1])), tuple(scales), self.inside()
        )

    def same(self, known: _Clip, args: Any, kwargs: Any) -> bool:
        """The tensors and the limit."""
        limit, raises = _limits(args, kwargs)
        handed = argument(args, kwargs, 0, "parameters")
        if type(limit) is not type(known.limit) or limit != known.limit or bool(raises) is not known.raises:
            return False
        if any(held() is None for held in known.optimizers) or not isinstance(handed, list | Tensor):
            return False
        return not self.touched() and _ids(handed) == known.tensors

    def goes(self, known: _Clip, args: Any, kwargs: Any) -> Any:
        """The same token."""
        optimizers = [one for held in known.optimizers if (one := held()) is not None]
        known.inside["clip"] += 1
        return "clip", optimizers, argument(args, kwargs, 0, "parameters")

    def ends(self, known: _Clip, token: Any, result: Any) -> bool:
        """Always; the norm is noted."""
        if known.scales and isinstance(result, Tensor) and result.numel() == 1:
            norm = number(result)
            if isinstance(norm, float):
                for account, scale in known.scales:
                    self._recorder.put_off.value(account, "gradient_norm", norm / scale)
        known.inside["clip"] -= 1
        self._recorder.seen()
        return True


def _limits(args: Any, kwargs: Any) -> tuple[Any, Any]:
    limit = argument(args, kwargs, 1, "max_norm") or kwargs.get("clip_value")
    return limit, raises_at_overflow(args, kwargs)


def _ids(handed: Tensor | list[Tensor]) -> tuple[int, ...]:
    return (id(handed),) if isinstance(handed, Tensor) else tuple(map(id, handed))
