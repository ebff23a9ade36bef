"""The table of places that the guard listens at.

| what | where |
|---|---|
| backward, autograd.grad | `torch.autograd._engine_run_backward`, which both look up when they are called |
| scale, unscale_, step, update | the classes of scalers that define them |
| optimizer step | torch's global hooks: foreach, fused, users' own and later classes too |
| zero_grad | `Optimizer`, `nn.Module`, and the subclasses that define their own |
| scheduler step | every class of schedulers that defines it |
| clip | what the no-grad wrappers of `torch.nn.utils.clip_grad` call: names bound early go through it too |
| checkpoints | `torch.save`, `torch.load`, and the classes that define `state_dict` and `load_state_dict` |
| weight averages | the loaded classes that are known to keep one |
| other processes | the forward of `DistributedDataParallel`, and `torch.distributed.destroy_process_group` |
| end of an epoch | `_BaseDataLoaderIter.__next__`, when it raises StopIteration |
| hooks of tensors and modules | `Tensor.register_hook`, and what `nn.Module` takes hooks of its backward by |
| hooks of saved tensors | what takes them, where torch does not say which saved tensor has one (`kept`) |
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from contextlib import nullcontext
from typing import Any

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torch.utils.data.dataloader import _BaseDataLoaderIter

from runtime_guard.again import PassAgain, ScheduleAgain
from runtime_guard.again_clipping import ClipAgain
from runtime_guard.again_stepping import ScalerStepAgain, StepAgain, UnscaleAgain, UpdateAgain, ZeroAgain
from runtime_guard.averages import Averages, averaging
from runtime_guard.backward import Backward
from runtime_guard.checkpoints import Checkpoints
from runtime_guard.clipping import Clipping
from runtime_guard.epochs import Epochs
from runtime_guard.hooks import TRACER, Failed, Hooks, Listener, Shield, defining
from runtime_guard.interim import Interim
from runtime_guard.kept import TAKING_HOOKS, TELLS_HOOKS, shy
from runtime_guard.lane import Lane
from runtime_guard.recorder import Recorder
from runtime_guard.rhythm import Again, Rhythm
from runtime_guard.schedules import Schedules, foreign
from runtime_guard.shards import SHARDS
from runtime_guard.stepping import Scaling, Stepping

_MODULE_HOOKS = ("register_backward_hook", "register_full_backward_hook", "register_full_backward_pre_hook")
_CLIPS = ("clip_grad_norm_", "clip_grad_value_", "_clip_grads_with_norm_")  # the last one since torch 2.6


class Listening:
    """The hooks of one guard. `awake`: every window is looked at, however long the loop has been steady. `interim`: is
    told of each step."""

    def __init__(
        self,
        recorder: Recorder,
        verdict: Callable[[], None],
        waiting: Collection[object],
        admit: Callable[[], None] | None,
        failed: Failed,
        awake: bool,
        interim: Interim,
    ) -> None:
        self._recorder, self._admit, self._failed = recorder, admit, failed
        self._verdict, self._waiting, self._interim = verdict, waiting, interim
        self._hooks = Hooks()
        self._sharded = False
        self._lane = Lane(recorder.lock, Shield("the lane", failed).fails, awake or TRACER is None, interim.due)
        self._rhythm = Rhythm(
            recorder.course,
            recorder.put_off,
            recorder.sites,
            recorder.numbers,
            recorder.seen,
            self._lane,
        )

    def begin(self) -> None:
        """Listens at every place."""
        for owner, name in () if TELLS_HOOKS else TAKING_HOOKS:
            self._hooks.replace(owner, name, shy)
        self._to_backward()
        self._to_scalers()
        self._to_optimizers()
        self._to_schedulers()
        self._to_checkpoints()
        self._to_ranks()
        averages = self._listener("weight average", Averages(self._recorder).updates, _nothing, _nothing)
        averages.draws = True
        for owner, name in averaging():
            self._hooks.listen(owner, name, averages)
        epochs = Epochs(self._recorder)
        listener = self._listener("DataLoader", epochs.asked, epochs.delivered, epochs.ran_out)
        listener.lane = None  # it is asked in every window, and says when that matters
        for owner in defining(_BaseDataLoaderIter, "__next__"):
            self._hooks.listen(owner, "__next__", listener)

    def end(self) -> None:
        """Puts everything back."""
        Shield("the rhythm", self._failed).run(self._rhythm.leave)
        self._hooks.remove()

    def _listener(self, name: str, *functions: Any, again: Again | None = None) -> Listener:
        before, after, abandon = functions
        listener = Listener(Shield(name, self._failed), before, after, abandon, self._verdict, self._waiting)
        listener.lane, listener.lock = self._lane, self._recorder.lock
        if again is not None:
            listener.again, listener.rhythm = again, self._rhythm
        return listener

    def _idle(self, listener: Listener, keeps: bool = False) -> Listener:
        """The same: nothing comes of its calls in a rhythm, but what may be left with their results."""
        listener.rhythm, listener.keeps = self._rhythm, keeps
        return listener

    def _to_backward(self) -> None:
        backward = Backward(self._recorder)
        again = PassAgain(self._recorder, backward)
        listener = self._listener("backward", backward.begins, backward.ends, backward.fails, again=again)
        listener.admit, listener.opens = self._admit, True
        self._hooks.listen(torch.autograd, "_engine_run_backward", listener)
        given = self._listener("hooks of tensors", self._recorder.underway.given, _nothing, _nothing)
        self._hooks.listen(torch.Tensor, "register_hook", self._idle(given))
        late = self._listener("hooks of modules", self._hooked, _nothing, _nothing)
        for name in _MODULE_HOOKS:
            self._hooks.listen(torch.nn.Module, name, late)

    def _hooked(self, args: Any, kwargs: Any) -> None:
        """A module was given a hook: what was known of the graphs before is known no longer."""
        self._rhythm.leave()
        self._recorder.underway.looks_again()

    def _to_scalers(self) -> None:
        scaling = Scaling(self._recorder)
        table: dict[str, tuple[Any, Any, Any, Again | None]] = {
            "__init__": (scaling.made, _nothing, _nothing, None),
            "scale": (scaling.scales, scaling.scaled, _nothing, None),
            "unscale_": (scaling.unscales, scaling.unscaled, scaling.leave, UnscaleAgain(self._recorder)),
            "step": (scaling.steps, scaling.stepped, scaling.failed, ScalerStepAgain(self._recorder)),
            "update": (scaling.updates, scaling.updated, _nothing, UpdateAgain(self._recorder)),
        }
        for name, (*functions, again) in table.items():
            listener = self._listener(f"GradScaler.{name}", *functions, again=again)
            listener = self._idle(listener, keeps=True) if name == "scale" else listener
            owners = [torch.amp.GradScaler] if name == "__init__" else defining(torch.amp.GradScaler, name)
            for owner in owners:
                self._hooks.listen(owner, name, listener)

    def _to_optimizers(self) -> None:
        stepping = Stepping(self._recorder)
        step = StepAgain(self._recorder)
        stepped = self._listener("Optimizer.step", stepping.steps, stepping.stepped, _nothing, again=step)
        stepped.over = self._interim.tell
        self._hooks.on_optimizer_step(stepped)
        self._hooks.listen(Optimizer, "__init__", self._listener("Optimizer", _owner, stepping.made, _nothing))
        again = ZeroAgain(self._recorder)
        zero = self._listener("zero_grad", stepping.zeroes, stepping.leave, stepping.leave, again=again)
        for root in (Optimizer, torch.nn.Module):
            for owner in defining(root, "zero_grad"):
                self._hooks.listen(owner, "zero_grad", zero)
        same, clipping = ClipAgain(self._recorder), Clipping(self._recorder)
        clip = self._listener("clip", clipping.clips, clipping.clipped, clipping.leave, again=same)
        norm = self._idle(self._listener("gradient norm", clipping.norms, _nothing, _nothing))
        clip.draws = norm.draws = True
        for name, listener in (*((name, clip) for name in _CLIPS), ("_get_total_norm", norm)):
            if hasattr(clip_grad, name):
                self._hooks.listen_inside(getattr(clip_grad, name), listener)

    def _to_checkpoints(self) -> None:
        checkpoints = Checkpoints(self._recorder)
        self._hooks.listen(torch, "save", self._listener("torch.save", checkpoints.saves, _nothing, _nothing))
        self._hooks.listen(torch, "load", self._listener("torch.load", _nothing, checkpoints.read, _nothing))
        table = (
            (torch.amp.GradScaler, "state_dict", checkpoints.state_of_scaler),
            (torch.amp.GradScaler, "load_state_dict", checkpoints.restores_scaler),
            (Optimizer, "load_state_dict", checkpoints.restores_optimizer),
        )
        for root, name, function in table:
            listener = self._listener(f"{root.__name__}.{name}", function, _nothing, _nothing)
            for owner in defining(root, name):
                self._hooks.listen(owner, name, listener)

    def _to_ranks(self) -> None:
        if not distributed.is_available():
            return
        ranks = self._recorder.ranks
        ran = self._listener("DistributedDataParallel", self._ran, _nothing, _nothing)
        self._hooks.listen(DistributedDataParallel, "forward", ran)
        made = self._listener("DistributedDataParallel()", _owner, lambda model, _: ranks.wraps(model), _nothing)
        self._hooks.listen(DistributedDataParallel, "__init__", made)
        self._adopt_sharded()
        sharded = self._listener("FullyShardedDataParallel's class", _nothing, self._adopt_sharded, _nothing)
        self._hooks.listen(Optimizer, "__init__", sharded)  # what shards its parameters is loaded before
        leaving = self._listener(
            "the other ranks", lambda args, kwargs: ranks.leaves(*args, **kwargs), _nothing, _nothing
        )
        leaving.lock = nullcontext()  # it waits for the other ranks, which may be threads of this process
        reduces = self._listener("all_reduce", self._reduces, _nothing, _nothing)
        for owner in (distributed, distributed.distributed_c10d):
            self._hooks.listen(owner, "all_reduce", reduces)
        joining = self._listener("init_process_group", _nothing, lambda *_: ranks.group(), _nothing)
        for owner in (distributed, distributed.distributed_c10d):
            self._hooks.listen(owner, "init_process_group", joining)
            self._hooks.listen(owner, "destroy_process_group", leaving)

    def _ran(self, args: Any, kwargs: Any) -> None:
        self._recorder.ranks.wraps(args[0], runs=torch.is_grad_enabled())
        self._recorder.sharing.ran(args[0])

    def _reduces(self, args: Any, kwargs: Any) -> None:
        """The program reduces something over the ranks itself: gradients, where it is more than a number."""
        handed = args[0] if args else kwargs.get("tensor")
        if isinstance(handed, torch.Tensor) and handed.is_floating_point() and handed.numel() > 1:
            self._recorder.measures.run(self._recorder.numbers.reduced, handed)

    def _adopt_sharded(self, *_: object) -> None:
        """Listens to FullyShardedDataParallel once it is loaded."""
        owner = getattr(sys.modules.get("torch.distributed.fsdp"), "FullyShardedDataParallel", None)
        if owner is not None and not self._sharded:
            self._sharded = True
            ran = self._listener("FullyShardedDataParallel", self._ran_sharded, _nothing, _nothing)
            self._hooks.listen(owner, "forward", ran)

    def _ran_sharded(self, args: Any, kwargs: Any) -> None:
        if SHARDS.ran(args[0]):
            self._recorder.seen()
        self._recorder.ranks.look()

    def _to_schedulers(self) -> None:
        schedules = Schedules(self._recorder, lambda owner: adopt(owner))
        made = self._listener("LRScheduler", _owner, schedules.made, _nothing)
        for root in (LRScheduler, ReduceLROnPlateau):  # the latter does not call the former's constructor
            self._hooks.listen(root, "__init__", made)
        again = ScheduleAgain(self._recorder)
        step = self._listener("LRScheduler.step", schedules.steps, schedules.stepped, schedules.fails, again=again)
        restored = self._listener("LRScheduler.load_state_dict", schedules.restores, _nothing, _nothing)
        for owner in defining(LRScheduler, "load_state_dict"):
            self._hooks.listen(owner, "load_state_dict", restored)
        heard = defining(LRScheduler, "step")
        for owner in heard:
            self._hooks.listen(owner, "step", step)

        def adopt_foreign(*_: object) -> None:
            for owner, absolute in foreign():
                if owner not in heard:
                    heard.append(owner)
                    schedules.hears(owner, absolute)
                    self._hooks.listen(owner, "step", step)

        adopt_foreign()  # and those that are loaded before an optimizer is made
        self._hooks.listen(Optimizer, "__init__", self._listener("schedules", _nothing, adopt_foreign, _nothing))

        def adopt(owner: type) -> None:
            for one in owner.__mro__:
                if issubclass(one, LRScheduler) and one not in heard and callable(vars(one).get("step")):
                    heard.append(one)
                    self._hooks.listen(one, "step", step)


def _owner(args: Any, kwargs: Any) -> Any:
    """The object whose method is called."""
    return args[0]


def _nothing(*_: Any) -> None:
    """What is done where nothing is to be done."""
