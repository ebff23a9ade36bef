"""What is done to gradients inside an optimizer's step, before they are used: by its hooks, or by a step of the user's.

Torch calls the hooks of all optimizers before those of one (torch 2.13), and a class that derives from an optimizer may
divide the gradients before it calls the step of its base. So where there are such hooks, or the class is not torch's,
the event of the step waits until the step is over: it is told then what the gradients were multiplied by meanwhile.
After the first windows in which nothing was, it waits no longer, as long as the hooks are the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any

from torch.optim import Optimizer, optimizer

from amplint.protocol.events import Kind
from amplint.protocol.ledger import Grads
from runtime_guard.windows import PROBED_FIRST

if TYPE_CHECKING:
    from runtime_guard.recorder import Recorder

OWN_STEP = "what losses weigh that an optimizer of the program's steps which holds the length of the window: not judged"
_OURS = __name__.partition(".")[0] + "."
Key = tuple[int, ...]


class InStep:
    """The steps that wait. `_unseen`: optimizers whose gradients were changed in steps, while no version shows it."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._waiting: dict[str, Callable[[], None]] = {}
        self._quiet: dict[str, tuple[Key, int]] = {}
        self._unseen = set[str]()

    def tells(self, thing: Any, name: str, feed: Callable[[], None]) -> None:
        """Tells the event of a step, at once or when it is over; one that still waits was of a step that raised."""
        self._waiting.pop(name, None)
        if self.waits(thing, name):
            self._waiting[name] = feed
        else:
            self._tell(thing, name, feed)

    def _tell(self, thing: Any, name: str, feed: Callable[[], None]) -> None:
        """The event; before it that of a division that may be, where a step of the user's knows of the window."""
        if not self._is_torchs(thing) and _knows_length(thing, self._recorder.state.ledgers[name].window.micro_steps):
            self._recorder.course.counted.not_covered[OWN_STEP] = None
            self._recorder.feed(Kind.DIVIDE, optimizer=name)
        feed()

    def _is_torchs(self, thing: Any) -> bool:
        code = _code(type(thing))
        return code is None or self._recorder.sites.is_ours(code)

    def waits(self, thing: Any, name: str) -> bool:
        """Whether gradients may be changed in a step, as far as known."""
        hooks = _hooks(thing)
        if not hooks and self._is_torchs(thing):
            return False
        key, quiet = self._quiet.get(name, (hooks, 0))
        return key != hooks or quiet < PROBED_FIRST

    def begins(self, name: str) -> None:
        """The optimizer's own step begins: its gradients are as it is given them."""
        if name in self._waiting:
            self._recorder.watches[name].see()

    def over(self, thing: Any, name: str) -> None:
        """It is over, or was left out: the event that has waited."""
        feed = self._waiting.pop(name, None)
        if feed is None:
            return
        edited = self._recorder.thread.stepped and self._edited(thing, name)
        key, quiet = self._quiet.get(name, ((), 0))
        hooks = _hooks(thing)
        self._quiet[name] = hooks, 0 if edited or key != hooks else quiet + 1
        if edited:
            feed()
        else:
            self._tell(thing, name, feed)

    def _edited(self, thing: Any, name: str) -> bool:
        """The event of gradients that were changed in the step. Returns whether they were."""
        recorder = self._recorder
        watch, numbers = recorder.watches[name], recorder.numbers
        now = watch.now()
        if not any(now):
            return False  # it has dropped them, when it had used them
        factor = recorder.measures.run(numbers.by_hand, thing)
        if now == watch.seen:
            unseen = recorder.measures.run(numbers.edited, thing)
            if unseen:
                self._unseen.add(name)
            elif name not in self._unseen or recorder.measures.run(numbers.follows, thing):
                return False
        watch.seen = now
        fused = getattr(thing, "_step_supports_amp_scaling", False)  # it takes the loss scale out as it steps
        weight = None if fused else factor
        scaled = recorder.state.ledgers[name].grads is Grads.SCALED and not recorder.thread.inside["scaler.step"]
        recorder.feed(Kind.OPAQUE if scaled else Kind.DIVIDE, optimizer=name, weight=None if scaled else weight)
        recorder.measures.run(recorder.numbers.measured_again, thing)
        return True


def _hooks(thing: Any) -> Key:
    """The hooks that run before a step of an optimizer, and are not of this package."""
    own = getattr(thing, "_optimizer_step_pre_hooks", {}).values()
    every = optimizer._global_optimizer_pre_hooks.values()
    return tuple(id(hook) for hook in (*every, *own) if not getattr(hook, "__module__", "").startswith(_OURS))


def _code(owner: type) -> CodeType | None:
    """The code of a class's own step."""
    return getattr(inspect.unwrap(owner.step), "__code__", None) if issubclass(owner, Optimizer) else None


def _knows_length(thing: Any, length: int) -> bool:
    """Whether an optimizer whose step is the user's holds the length of a window: it may divide by it as it steps."""
    code = _code(type(thing))
    return length > 1 and code is not None and any(value == length for value in _numbers(thing, code))


def _numbers(thing: Any, code: CodeType) -> Iterator[int]:
    """The whole numbers that an optimizer holds, or that its step has names for."""
    function = inspect.unwrap(type(thing).step)
    cells = inspect.getclosurevars(function) if inspect.isfunction(function) else None
    named = (*cells.nonlocals.values(), *cells.globals.values()) if cells is not None else ()
    groups = [value for group in thing.param_groups for value in group.values()]
    yield from (one for one in (*vars(thing).values(), *groups, *named) if type(one) is int)
