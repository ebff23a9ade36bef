"""Where the guard listens, and how everything is put back.

Listening is done on classes and modules, never on an object of the user's: an instance keeps its exact type, its
pickle, its deepcopy and its state_dict. torch's own hooks are used where there are some (optimizer steps). Every change
is recorded with what was there before, and taken back in reverse order.

A listener that fails is switched off and says so once; the training run goes on. That is the one place of this package
where `except Exception` stands. The listeners are kept out of what torch.compile traces: it breaks the graph there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import GeneratorType
from typing import Any

import torch
from torch._C._dynamo import eval_frame
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from runtime_guard.lane import Lane
from runtime_guard.rhythm import Again, Rhythm
from runtime_guard.trampolines import Arguments, around

Undo = Callable[[], None]
Failed = Callable[[str, Exception], None]


class Shield:
    """What must not break the user's run: when it fails it is switched off, and `failed` is told once."""

    def __init__(self, name: str, failed: Failed) -> None:
        self.name, self._failed = name, failed
        self.on = True

    def run(self, function: Callable[..., Any], *args: Any, default: Any = None) -> Any:
        """What `function` returns; `default` once it has failed."""
        if not self.on:
            return default
        try:
            return function(*args)
        except Exception as error:
            return self.fails(error, default)

    def fails(self, error: Exception, default: Any = None) -> Any:
        """Switches off what has failed."""
        self.on = False
        self._failed(self.name, error)
        return default


def _nothing(*_: Any) -> None:
    """What is done where nothing is to be done."""


class Listener:
    """What is done at one place, shielded.

    `before(args, kwargs)` returns a token; `after(token, result)` and `abandon(token)` return nothing. One that `draws`
    gets iterators read into lists, which are passed on: it may fail after it has looked.
    `admit` and `verdict` are called outside the shield, before and after the call, and may raise for the user to see;
    `verdict` where something waits to be said; `over` after each call, in the shield. With a `rhythm`, calls are
    compared by `again` where they come again; `opens`: such a call begins a micro-step. With a `lane`, calls of a loop
    that has been steady for long pass by; `keeps`: something is left with what they return. `lock`: held while it
    listens, not while the call runs, so that what one thread hears of a call is not mixed with what another one does.
    """

    def __init__(
        self,
        shield: Shield,
        before: Callable[[Arguments, dict[str, Any]], Any] = _nothing,
        after: Callable[[Any, Any], None] = _nothing,
        abandon: Callable[[Any], None] = _nothing,
        verdict: Callable[[], None] = _nothing,
        waiting: Collection[object] = (),
    ) -> None:
        self._shield, self._verdict, self._waiting = shield, verdict, waiting
        self.hear, self.hear_out, self._abandon = before, after, abandon
        self.rhythm: Rhythm | None = None
        self.again: Again | None = None
        self.opens = self.keeps = self.draws = False
        self.lane: Lane | None = None
        self.lock: AbstractContextManager[object] = nullcontext()
        self.admit: Callable[[], None] | None = None
        self.over: Callable[[], None] | None = None

    def before(self, args: Arguments, kwargs: dict[str, Any]) -> tuple[Any, Arguments, dict[str, Any]]:
        """The token of this call, and the arguments to pass on."""
        if self.admit is not None:
            self.admit()
        if not self._shield.on:
            return None, args, kwargs
        if self.draws:
            args, kwargs = tuple(map(_drawn, args)), {name: _drawn(one) for name, one in kwargs.items()}
        try:  # as in Shield.run: a call less at each of the calls that are listened to
            with self.lock:
                rhythm = self.rhythm
                token = self.hear(args, kwargs) if rhythm is None else rhythm.before(self, args, kwargs)
        except Exception as error:
            token = self._shield.fails(error)
        return token, args, kwargs

    def after(self, token: Any, result: Any) -> None:
        """Listens to the end of a call; raises what the mode asks for."""
        if self._shield.on:
            try:
                with self.lock:
                    rhythm = self.rhythm
                    if rhythm is None:
                        self.hear_out(token, result)
                    else:
                        rhythm.after(self, token, result)
                if self.over is not None:
                    self.over()
            except Exception as error:
                self._shield.fails(error)
        if self._waiting:
            self._verdict()

    def abandon(self, token: Any) -> None:
        """Listens to a call that raised."""
        with self.lock:
            if self.rhythm is not None:
                self._shield.run(self.rhythm.leave)
            self._shield.run(self._abandon, token)


def _drawn(given: Any) -> Any:
    """A list of what an iterator holds; a generator that is used up, and anything else, as it is."""
    used_up = isinstance(given, GeneratorType) and given.gi_frame is None
    return list(given) if isinstance(given, Iterator) and not used_up else given


class Hooks:
    """The changes made so far, and how to take them back."""

    def __init__(self) -> None:
        self._undo: list[Undo] = []

    def remove(self) -> None:
        """Puts everything back, in reverse order."""
        while self._undo:
            self._undo.pop()()

    def listen(self, owner: Any, name: str, listener: Listener) -> None:
        """Replaces a function that `owner` itself defines by one that is listened to."""
        self.replace(owner, name, lambda original: _heard(original, listener))

    def replace(self, owner: Any, name: str, made_of: Callable[[Any], Any]) -> None:
        """Replaces what `owner` itself defines by what is made of it."""
        original = vars(owner)[name]
        setattr(owner, name, made_of(original))
        self._undo.append(partial(setattr, owner, name, original))

    def listen_inside(self, wrapper: Any, listener: Listener) -> None:
        """The same for the function that a no-grad wrapper calls, so that names bound early are heard too."""
        for cell in wrapper.__closure__ or ():
            original = cell.cell_contents
            if callable(original):
                cell.cell_contents = _heard(original, listener)
                self._undo.append(partial(setattr, cell, "cell_contents", original))

    def on_optimizer_step(self, listener: Listener) -> None:
        """Torch's own hooks, around the step of every optimizer."""

        lane = listener.lane

        def begins(optimizer: Any, args: Any, kwargs: Any) -> None:
            if lane is None or lane.steps is None or not lane.begins(listener, (optimizer, args, kwargs), {}):
                listener.before((optimizer, args, kwargs), {})

        def ends(optimizer: Any, args: Any, kwargs: Any) -> None:
            if lane is None or not (lane.steps or lane.woken) or not lane.ends(listener, None):
                listener.after(optimizer, None)

        handles = [
            register_optimizer_step_pre_hook(untraced(begins)),
            register_optimizer_step_post_hook(untraced(ends)),
        ]
        self._undo += [handle.remove for handle in handles]


def _heard(original: Callable[..., Any], listener: Listener) -> Callable[..., Any]:
    """The same function, listened to; what torch.compile traces is told to look away."""
    before, after, abandon = listener.before, listener.after, listener.abandon
    quiet = around(original, _unseen(before), _unseen(after), _unseen(abandon))
    if TRACER is None:
        return quiet
    return around(original, before, after, abandon, TRACER, quiet, listener.lane, listener)


def _asked_tracer() -> Callable[[], object] | None:
    """What says who is tracing now. torch 2.4 has no such function; that of 2.6 hands out a reference that it does not
    own, so that None, or the tracer itself, loses one at each call (measured; 2.8 and 2.13 do not)."""
    release = tuple(int(part) for part in torch.__version__.split(".")[:2])
    return getattr(eval_frame, "get_eval_frame_callback", None) if release >= (2, 8) else None


TRACER = _asked_tracer()


def _unseen(function: Callable[..., Any]) -> Callable[..., Any]:
    return torch.compiler.disable(function)  # type: ignore[no-any-return, no-untyped-call]


def untraced(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which torch.compile leaves alone. Where nothing is traced, it is called at once: telling
    dynamo to look away costs more than most listeners."""
    quiet, tracer = _unseen(function), TRACER
    if tracer is None:
        return quiet

    def heard(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) if tracer() is None else quiet(*args, **kwargs)

    return heard


def family(root: type) -> list[type]:
    """A class and its present subclasses, each once."""
    seen: dict[type, None] = {}
    waiting = [root]
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen[one] = None
            waiting += one.__subclasses__()
    return list(seen)


def defining(root: type, name: str) -> list[type]:
    """The present classes of a family that define a method themselves."""
    return [one for one in family(root) if callable(vars(one).get(name))]
