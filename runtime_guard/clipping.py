"""Listens to clips, and to norms that are measured.

A clip to a threshold that no gradients reach measures their norm, and one whose threshold is another on each micro-step
may leave them as they are until the window is whole.
"""

from __future__ import annotations

from types import GeneratorType
from typing import Any

from torch import Tensor

from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads
from runtime_guard.crossing import missed
from runtime_guard.owners import parameters_of
from runtime_guard.recorder import Recorder
from runtime_guard.shards import SHARDS
from runtime_guard.stepping import Calls, argument

_ENDLESS = 1e6
"""A norm that no gradients have, whether or not they carry a loss scale of the usual size."""
_SCALES = frozenset({"get_scale", "_scale"})


class Clipping(Calls):
    """The listeners at clips and norms. `_limits`: the thresholds that there were at each place."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder)
        self._limits: dict[Any, set[str]] = {}

    def clips(self, args: Any, kwargs: Any) -> Any:
        """The optimizers whose parameters are clipped."""
        if self.quiet():
            return None
        recorder = self._recorder
        parameters = argument(args, kwargs, 0, "parameters")
        single = isinstance(parameters, Tensor)
        tensors = [parameters] if single else list(parameters)
        recorder.look()
        stack = recorder.sites.stack()
        if isinstance(parameters, GeneratorType):  # any other was read already
            recorder.feed(Kind.EMPTY_CLIP, stack=stack)
        limit = argument(args, kwargs, 1, "max_norm")
        limit = kwargs.get("clip_value") if limit is None else limit
        owners, endless = recorder.owners_of(tensors), self._endless(limit)
        said = {"raises": "yes"} if raises_at_overflow(args, kwargs) else {}
        none = all(tensor.grad is None for tensor in tensors)
        wrapped = SHARDS.said(tensors) if SHARDS else {}
        for optimizer, name in owners:
            recorder.measures.run(recorder.numbers.before_touch, optimizer)
            kind = Kind.NORM if endless else Kind.CLIP
            detail = self._limit(optimizer, limit) | said | (self._meets(name) if none else {})
            if not endless or not self._divides_norm(name):
                recorder.feed(kind, optimizer=name, stack=stack, detail=detail | self._turns(stack, detail), **wrapped)
        given = {name for _, name in owners}
        apart = not endless and not (given and given & recorder.reached)
        for name in missed(tensors, given, recorder.reached, recorder.state.ledgers) if apart else ():
            recorder.feed(Kind.MISSED_CLIP, optimizer=name, stack=stack)
        handed = parameters if single else tensors
        return self.enter("clip"), [optimizer for optimizer, _ in owners], handed

    def norms(self, args: Any, kwargs: Any) -> None:
        """The optimizers whose gradients are measured, and not clipped by the same call."""
        if self.quiet():
            return
        tensors = argument(args, kwargs, 0, "tensors")
        given = {id(one) for one in ([tensors] if isinstance(tensors, Tensor) else tensors)}
        recorder, stack = self._recorder, self._recorder.sites.stack()
        recorder.look()
        for optimizer, name in recorder.mine():
            if any(id(one.grad) in given for one in parameters_of(optimizer)) and not self._divides_norm(name):
                recorder.feed(Kind.NORM, optimizer=name, stack=stack)

    def _endless(self, limit: Any) -> bool:
        """Whether no gradients are as large as a threshold: then they are only measured."""
        said = limit if not isinstance(limit, Tensor) or limit.device.type == "cpu" else None
        return isinstance(said, int | float | Tensor) and float(said) >= _ENDLESS

    def _turns(self, stack: Any, detail: dict[str, str]) -> dict[str, str]:
        """`turns` of a clip at a place where nothing reached the threshold before, or will not later."""
        limit = detail.get("limit")
        if limit is None:
            return {}
        known = self._limits.setdefault(stack, {limit})
        known.add(limit)
        return {"turns": "yes"} if len(known) > 1 and any(float(one) >= _ENDLESS for one in known) else {}

    def _divides_norm(self, name: str) -> bool:
        """Whether the norm of scaled gradients may be divided by the scale: a function that runs asks for that."""
        recorder = self._recorder
        if recorder.state.ledgers[name].grads is not Grads.SCALED:
            return False
        return any(_SCALES & {*frame.f_code.co_names} for frame in recorder.sites.frames())

    def _meets(self, name: str) -> dict[str, str]:
        """What a clip has met that finds no gradient: none in this window, or those of earlier micro-steps."""
        state = self._recorder.state
        before = state.last.get(name, {}).get(Kind.CLIP)
        earlier = before is not None and before.detail.get("meets") != "none" and state.ledgers[name].window.shortened
        return {"meets": "earlier" if earlier else "none"}

    def _limit(self, optimizer: Any, limit: Any) -> dict[str, str]:
        """The threshold, and the loss scale that the gradients carry, as far as they are known without waiting."""
        scale = self._recorder.measures.run(self._recorder.numbers.loss_scale, optimizer)
        said = limit if not isinstance(limit, Tensor) or limit.device.type == "cpu" else None
        known = {"limit": said if said is None or not isinstance(said, Tensor) else float(said), "scale": scale}
        return {name: str(value) for name, value in known.items() if value is not None}

    def clipped(self, token: Any, norm: Any) -> None:
        """The norm that was found."""
        if token is None:
            return
        for optimizer in token[1]:
            self._recorder.measures.run(self._recorder.numbers.after_touch, optimizer, "clip")
            scaled = self._recorder.carries_scale(optimizer)
            self._recorder.measures.run(self._recorder.numbers.gradient_norm, optimizer, norm, scaled)
        self.leave(token)


def raises_at_overflow(args: Any, kwargs: Any) -> bool:
    """Whether a clip is told to raise when the norm is not finite. One that is handed a norm has no such argument."""
    handed = isinstance(argument(args, kwargs, 2, "total_norm"), Tensor)
    return not handed and bool(argument(args, kwargs, 3, "error_if_nonfinite"))
