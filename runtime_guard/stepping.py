"""Listens to scalers, optimizers and zero_grad.

A call inside another one that is listened to (the unscaling inside `scaler.step`, the step of a base class) is part of
the outer one and makes no event of its own.
"""

from __future__ import annotations

import inspect
import weakref
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.amp import GradScaler
from torch.optim import Optimizer

from amplint.protocol.checks import CHECKED
from amplint.protocol.events import Kind
from amplint.protocol.facts import Fact
from amplint.protocol.precision import Precision
from amplint.protocol.state import Moment
from amplint.protocol.values import with_changes
from runtime_guard.loss_graph import SCALE
from runtime_guard.recorder import Recorder, calling_frame
from runtime_guard.roles import delegates, inner
from runtime_guard.scaled import MARK, carries, found_by, mark, metadata_of

_PASSED_BY = (
    "steps that are not taken by the scaler which has unscaled their gradients: it skips none of them; an overflow "
    "that such a step meets is told on the CPU only"
)


class Calls:
    """What the listeners of this file have in common: where the thread is."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def quiet(self) -> bool:
        """Whether the thread is inside a call that speaks for what happens in it."""
        thread = self._recorder.thread
        inside = thread.inside
        if inside["step"]:
            thread.forget_failed_steps()
            if inside["step"] and thread.closure is None:
                return True
        return bool(inside["scaler.step"] or inside["unscale"] or inside["zero"] or inside["clip"])

    def enter(self, what: str) -> str:
        """The token of a call that is entered."""
        self._recorder.thread.inside[what] += 1
        return what

    def leave(self, token: Any, result: Any = None) -> None:
        """The end of a call that was entered, whether it raised or not."""
        what = token[0] if isinstance(token, tuple) else token
        if what is not None:
            self._recorder.thread.inside[what] -= 1
            self._recorder.seen()


class Scaling(Calls):
    """The listeners at scalers. A scaler that is not enabled does nothing, and makes no event."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(recorder)
        self._latest: tuple[weakref.ref[Any], weakref.ref[Tensor], int, dict[str, Any]] | None = None

    def made(self, args: Any, kwargs: Any) -> None:
        """The arguments of a scaler, for the rules about them."""
        signature = inspect.signature(GradScaler.__init__)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        self._recorder.scaler_made(args[0], bound.arguments["init_scale"])
        arguments: dict[int | str, object] = {name: value for name, value in bound.arguments.items() if name != "self"}
        recorder = self._recorder
        if arguments["enabled"]:
            recorder.feed(Kind.SCALER_CREATED, scaler=recorder.scaler(args[0]))
        recorder.fact(Fact("torch.amp.GradScaler", recorder.sites.stack()[-1], arguments))

    def _found(self, scaler: Any) -> None:
        """The arguments of a scaler that was made before anybody listened, as it has them now."""
        known: dict[int | str, object] = {
            "growth_interval": scaler.get_growth_interval(),
            "growth_factor": scaler.get_growth_factor(),
            "backoff_factor": scaler.get_backoff_factor(),
        }
        self._recorder.fact(Fact("torch.amp.GradScaler", self._recorder.sites.stack()[-1], known))

    def scales(self, args: Any, kwargs: Any) -> Any:
        """The scaler; an event where it is handed what it has scaled before."""
        scaler = args[0]
        if scaler._enabled and carries(argument(args, kwargs, 1, "outputs"), self._recorder.scalers.of(scaler)):
            self._recorder.feed(Kind.RESCALE, scaler=self._recorder.scaler(scaler))
        return scaler

    def scaled(self, scaler: Any, outputs: Any) -> None:
        """Leaves the scaler's name, and the scale, with what it has scaled."""
        if scaler is None or self._scaled_again(scaler, outputs):
            return
        recorder = self._recorder
        if not scaler._enabled:
            recorder.course.counted.not_covered["a scaler that is not enabled: nothing is scaled"] = None
            return
        name = recorder.scalers.of(scaler)
        if name is None:
            self._found(scaler)
        name = name if name is not None and name in recorder.course.counted.scalers else recorder.scaler(scaler)
        mark(outputs, name)
        recorder.measures.run(recorder.numbers.note_scale, scaler, outputs)
        if recorder.measures.on and type(outputs) is Tensor and outputs.grad_fn is not None:
            left, scale = metadata_of(outputs.grad_fn), scaler._scale
            marks = {mark: left[mark] for mark in (MARK, SCALE)}
            self._latest = weakref.ref(scaler), weakref.ref(scale), scale._version, marks

    def _scaled_again(self, scaler: Any, outputs: Any) -> bool:
        """Whether the same scaler has scaled a loss by the same scale before; then the same is left with this one."""
        if self._latest is None or type(outputs) is not Tensor or not scaler._enabled:
            return False
        known, held, version, marks = self._latest
        scale, node = scaler._scale, outputs.grad_fn
        same = known() is scaler and held() is scale and node is not None
        if not same or scale._version != version:
            return False
        metadata_of(node).update(marks)
        return True

    def unscales(self, args: Any, kwargs: Any) -> Any:
        """The event, before torch may refuse it."""
        scaler, optimizer = args[0], argument(args, kwargs, 1, "optimizer")
        if not scaler._enabled or self.quiet():
            return None
        recorder = self._recorder
        recorder.look(optimizer)
        recorder.measures.run(recorder.numbers.before_touch, optimizer)
        name = recorder.optimizer(optimizer)
        parameters = self._parameters(scaler, name, optimizer)
        recorder.feed(Kind.UNSCALE, optimizer=name, scaler=recorder.scaler(scaler), parameters=parameters)
        return self.enter("unscale"), optimizer

    def unscaled(self, token: Any, result: Any) -> None:
        """The gradients are what they are now."""
        if token is not None:
            self._recorder.measures.run(self._recorder.numbers.after_touch, token[1], "unscale")
            self.leave(token)

    def steps(self, args: Any, kwargs: Any) -> Any:
        """The event, before torch may refuse it."""
        scaler, optimizer = args[0], argument(args, kwargs, 1, "optimizer")
        if not scaler._enabled or self.quiet():
            return None
        recorder, token = self._recorder, list[Moment]()
        recorder.look(optimizer)
        name = recorder.optimizer(optimizer)
        recorder.by_hand.divided_late(name)
        recorder.by_hand.before_step(optimizer, name)
        reading = recorder.by_hand.reading(optimizer, name, token)
        recorder.window(name, optimizer, reading)
        told = recorder.scaler(scaler)
        detail = (
            _closure(scaler, args, kwargs) | recorder.doubled.get(name, {}) | recorder.by_hand.origin(name, optimizer)
        )
        fused = getattr(optimizer, "_step_supports_amp_scaling", False)
        parameters = Precision.UNKNOWN if fused else self._parameters(scaler, name, optimizer)
        feed = partial(
            recorder.feed, Kind.SCALER_STEP, optimizer=name, scaler=told, maker=recorder.makers.get(told, ()),
            reading=reading, token=token, detail=detail, parameters=parameters, stack=recorder.sites.stack(),
        )  # fmt: skip
        recorder.in_step.tells(optimizer, name, feed)
        recorder.thread.stepped = False
        return self.enter("scaler.step"), scaler, optimizer, token

    def failed(self, token: Any) -> None:
        """A step that raised."""
        if token is not None:
            self._recorder.in_step.over(token[2], self._recorder.optimizer(token[2]))
        self.leave(token)

    def _parameters(self, scaler: Any, name: str, optimizer: Any) -> Precision:
        """The precision of what is unscaled; not known of a scaler that was taught to unscale float16."""
        if "_unscale_grads_" in vars(scaler) or type(scaler)._unscale_grads_ is not GradScaler._unscale_grads_:
            return Precision.UNKNOWN
        return self._recorder.precisions.of_parameters(name, optimizer)

    def stepped(self, token: Any, result: Any) -> None:
        """Whether the step was skipped: the optimizer's own hook did not fire. A fused one decides by itself."""
        if token is None:
            return
        recorder = self._recorder
        _, scaler, optimizer, moments = token
        recorder.in_step.over(optimizer, recorder.optimizer(optimizer))
        counts = recorder.course.counted.scalers[recorder.scaler(scaler)]
        counts[0] += 1
        fused = getattr(optimizer, "_step_supports_amp_scaling", False)
        if not recorder.thread.stepped:
            counts[1] += 1
            recorder.measures.run(recorder.numbers.closed, optimizer, True)
        skipped = None if fused else not recorder.thread.stepped
        if skipped is not None:
            recorder.ranks.decided(recorder.optimizer(optimizer), skipped)
        if skipped and moments:
            event = moments[0].event
            recorder.state.amend(event, with_changes(event, detail={**event.detail, "skipped": "yes"}))
        recorder.measures.run(recorder.numbers.scaler_stepped, scaler, skipped)
        self.leave(token)

    def updates(self, args: Any, kwargs: Any) -> Any:
        """The event; a new scale set by hand is none."""
        scaler, recorder = args[0], self._recorder
        if not scaler._enabled or len(args) > 1 or kwargs or self.quiet():
            return None
        recorder.look()
        token: list[Moment] = []
        checked = any(state["found_inf_per_device"] for state in scaler._per_optimizer_states.values())
        detail = {CHECKED: "yes" if checked else "no"}
        recorder.feed(Kind.UPDATE, scaler=recorder.scaler(scaler), token=token, detail=detail)
        return scaler, token

    def updated(self, token: Any, result: Any) -> None:
        """What the scale is now, for the rules about numbers."""
        if token is None:
            return
        scaler, moments = token
        reading = self._recorder.measures.run(self._recorder.numbers.at_update, scaler)
        if moments and reading is not None:
            self._recorder.observe(moments[0], reading)


class Stepping(Calls):
    """The listeners at optimizers and zero_grad."""

    def made(self, optimizer: Any, result: Any) -> None:
        """A new optimizer."""
        if optimizer is not None:
            self._recorder.homes.made(self._recorder.optimizer(optimizer, made=True))

    def steps(self, args: Any, kwargs: Any) -> None:
        """Torch's own hook before a step: of subclasses that call their base class it fires twice."""
        optimizer, given, named = args
        recorder, thread = self._recorder, self._recorder.thread
        thread.forget_failed_steps()
        again = thread.in_step_of(optimizer) or self._steps_for_itself(optimizer)
        thread.stepping.append((id(optimizer), id(calling_frame())))
        closure = given[1] if len(given) > 1 else named.get("closure")
        outer = not again and not self.quiet()
        if outer and recorder.underway.running is not None and torch._C._current_graph_task_id() != -1:
            recorder.underway.running.steps(optimizer)
        if not again:
            thread.part = outer and recorder.by_hand.steps(optimizer, callable(closure))
        if not again and not callable(closure) and not thread.part:
            recorder.by_hand.closing(optimizer)
        if outer:
            if callable(closure):
                thread.closure, thread.evaluated = set(), False
                thread.code = getattr(inspect.unwrap(closure), "__code__", None)
            elif not thread.part:
                self._feed_step(optimizer)
        if not again:
            recorder.in_step.begins(recorder.optimizer(optimizer))
        thread.stepped = True
        thread.inside["step"] = len(thread.stepping)

    def stepped(self, optimizer: Any, result: Any) -> None:
        """Torch's own hook after a step."""
        recorder, thread = self._recorder, self._recorder.thread
        if thread.stepping:
            thread.stepping.pop()
        thread.inside["step"] = len(thread.stepping)
        if thread.in_step_of(optimizer) or self._steps_for_itself(optimizer):
            return
        by_closure = not thread.stepping and thread.closure is not None
        if by_closure:
            thread.closure = None
            recorder.look()
            if not thread.evaluated:  # the gradients of the window are those of its only evaluation
                recorder.measures.run(recorder.numbers.closing, optimizer)
                self._feed_step(optimizer, over=True)
        if not thread.part:
            recorder.in_step.over(optimizer, recorder.optimizer(optimizer))
            recorder.measures.run(recorder.numbers.closed, optimizer)
        if not thread.stepping:
            if by_closure and thread.evaluated:
                self._feed_step(optimizer, over=True)
            self._erased_by_itself(optimizer)
            recorder.settle()

    def _steps_for_itself(self, optimizer: Any) -> bool:
        """Whether another optimizer of the same name, with the same parameters, lets this one step."""
        names, thread = self._recorder.optimizers, self._recorder.thread
        around = [names.at(who) for who, _ in thread.stepping if who != id(optimizer)]
        if not around:
            return False
        name = self._recorder.optimizer(optimizer)
        if name not in around:
            self._recorder.course.counted.inner.add(name)
        return name in around and thread.closure is None

    def _feed_step(self, optimizer: Any, over: bool = False) -> None:
        recorder, token = self._recorder, list[Moment]()
        if recorder.frameworks.sets_up(recorder.sites.stack()):
            return
        name = recorder.optimizer(optimizer)
        recorder.by_hand.divided_late(name)
        recorder.by_hand.before_step(optimizer, name)
        reading = recorder.by_hand.reading(optimizer, name, token)
        recorder.window(name, optimizer, reading)
        parameters = recorder.precisions.of_parameters(name, optimizer)
        detail = recorder.doubled.get(name, {}) | recorder.by_hand.origin(name, optimizer)
        feed = partial(
            recorder.feed, Kind.STEP, optimizer=name, reading=reading, token=token, parameters=parameters,
            detail=detail | self._passes_by(optimizer),
            stack=recorder.sites.stack(),
        )  # fmt: skip
        if over:
            feed()
        else:
            recorder.in_step.tells(optimizer, name, feed)

    def _passes_by(self, optimizer: Any) -> dict[str, str]:
        """Whether a step passes by the scaler that has unscaled its gradients and found an overflow in them."""
        recorder = self._recorder
        found = found_by((scaler for scaler, _ in recorder.scalers.living()), optimizer)
        if found is None:
            return {}
        recorder.course.counted.not_covered[_PASSED_BY] = None
        overflow = any(one.is_cpu and bool(one.item() > 0) for one in found)
        return {"unchecked": "yes", "overflowed": "yes"} if overflow else {}

    def _erased_by_itself(self, optimizer: Any) -> None:
        """An optimizer may drop the gradients that it has used."""
        recorder = self._recorder
        name = recorder.optimizer(optimizer)
        recorder.by_hand.after_step(optimizer, name)
        recorder.seen()

    def zeroes(self, args: Any, kwargs: Any) -> Any:
        """An optimizer's gradients, or those of a model, which may belong to several."""
        if self.quiet() and not self._after_its_step():
            return None
        recorder, owner = self._recorder, args[0]
        if delegates(owner, "zero_grad"):
            return None  # what it does to the optimizer inside is what happens
        recorder.look()
        stack = recorder.sites.stack()
        if isinstance(owner, Optimizer):
            erased = [(inner(owner), recorder.optimizer(owner))]
        else:
            erased = recorder.owners_of(owner.parameters())
        for optimizer, name in erased:
            recorder.feed(Kind.ZERO_GRAD, optimizer=name, stack=stack)
            recorder.measures.run(recorder.numbers.erased, optimizer)
        return self.enter("zero")

    def _after_its_step(self) -> bool:
        """Whether a scaler's step goes on after the optimizer has stepped: the `step` of a wrapper erases gradients."""
        thread = self._recorder.thread
        inside = thread.inside
        return thread.stepped and not (inside["step"] or inside["unscale"] or inside["zero"] or inside["clip"])


def _closure(scaler: Any, args: Any, kwargs: Any) -> dict[str, str]:
    """Whether torch's own scaler is handed a closure, and how; what another class does with one is not known."""
    if type(scaler).__module__.partition(".")[0] != "torch":
        return {}
    if "closure" in kwargs:
        return {"closure": "by keyword"}
    return {"closure": "by position"} if len(args) > 2 and callable(args[2]) else {}


def argument(args: Any, kwargs: Any, position: int, name: str) -> Any:
    """An argument by its position or name."""
    return args[position] if len(args) > position else kwargs.get(name)
