"""Where a thread is: the calls that are listened to and that it is inside of; and what keeps threads apart."""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType, FrameType
from typing import Any
from weakref import WeakSet

from amplint.protocol.events import Event, Kind, Site

_BEGINNINGS = frozenset({Kind.BACKWARD, Kind.ZERO_GRAD})
CALLS = ("backward", "step", "scaler.step", "unscale", "zero", "clip", "schedule")


_LOCKS = WeakSet[Any]()


def lock() -> Any:
    """A lock that a thread may take again, and that no process which is forked finds taken: a thread that holds it is
    not in the child, and would never let go."""
    made = threading.RLock()
    _LOCKS.add(made)
    return made


def _hold() -> None:
    """Waits until no other thread holds one."""
    _held.locks = list(_LOCKS)
    for one in _held.locks:
        one.acquire()


def _release() -> None:
    for one in _held.locks:
        one.release()
    del _held.locks


_held = threading.local()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release)


class Thread(threading.local):
    """The calls that a thread is inside of, by what they are.

    `stepping`: the optimizers whose step runs, each with the frame of torch that runs it. `closure`: what the closure
    of that step has done already, None outside of one; `evaluated`: it was evaluated more than once. `stepped`: an
    optimizer has stepped since the scaler was asked. `part`: the step that runs goes on with an update.
    """

    def __init__(self) -> None:
        self.inside = dict.fromkeys(CALLS, 0)
        self.stepping: list[tuple[int, int]] = []
        self.closure: set[tuple[Kind, tuple[Site, ...], str | None]] | None = None
        self.first: tuple[Kind, tuple[Site, ...], str | None] | None = None
        self.evaluated = False
        self.code: CodeType | None = None
        self.stepped = self.part = False

    def in_step_of(self, optimizer: Any) -> bool:
        """Whether the step of this optimizer runs."""
        return any(who == id(optimizer) for who, _ in self.stepping)

    def repeated(self, event: Event, looped: bool = False) -> bool:
        """Whether a closure does again what it has done in this step: the optimizer may evaluate it many times.

        It is evaluated again when what it began with comes again; until then its losses add up. `looped`: the event is
        in a loop of the closure's own, where it comes again in any case.
        """
        assert self.closure is not None
        done = (event.kind, event.step_of_program, event.optimizer)
        if not self.closure:
            self.first = None
        if self.first is None and event.kind in _BEGINNINGS:
            self.first = done
        elif done == self.first and not looped:
            self.evaluated = True
        known = done in self.closure
        self.closure.add(done)
        return known and (self.evaluated or event.kind is not Kind.BACKWARD)

    def forget_failed_steps(self) -> None:
        """Nobody says when a step has raised: its frame is gone then."""
        if not self.stepping:
            return
        running = set()
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            running.add(id(frame))
            frame = frame.f_back
        self.stepping = [entry for entry in self.stepping if entry[1] in running]
        self.inside["step"] = len(self.stepping)
        if not self.stepping:
            self.closure = None


class Homes:
    """The threads that step or zero optimizers, by name.

    One that was made in a thread of its own belongs to that thread until another one steps it: the first backward may
    be filling its gradients while this thread looks, and reading `.grad` then is not safe (autograd runs without the
    interpreter's lock, torch 2.13).
    """

    def __init__(self) -> None:
        self._threads: dict[str, int] = {}
        self._only: int | None = None
        self._filling = set[int]()

    @property
    def alone(self) -> bool:
        """Whether no other thread than this one does."""
        return threading.get_ident() == self._only

    def made(self, name: str) -> None:
        """In which thread an optimizer was made; the main thread may make it for any other."""
        if threading.current_thread() is not threading.main_thread():
            self._threads.setdefault(name, threading.get_ident())
            self._only = None

    def stepped(self, name: str) -> None:
        """Whose thread an optimizer belongs to."""
        here = threading.get_ident()
        if self._threads.get(name) != here or self._only is None:
            self._threads[name] = here
            self._only = here if {*self._threads.values(), *self._filling} == {here} else None

    def fills(self) -> None:
        """Called before a backward of this thread: it fills gradients, whose optimizers need not be its own."""
        if (here := threading.get_ident()) not in self._filling:
            self._filling.add(here)
            if self._only != here:
                self._only = None

    def unclaimed(self, name: str | None) -> bool:
        """Whether no thread has stepped or zeroed an optimizer yet, and another one than this may be filling it."""
        return name not in self._threads and not self.undisturbed

    def strange(self) -> set[str]:
        """The optimizers of other threads that are alive."""
        others = _other_threads()
        return {name for name, thread in self._threads.items() if thread in others}

    @property
    def undisturbed(self) -> bool:
        """Whether no other living thread trains: those of progress bars, of loaders and of writers do not."""
        return _other_threads().isdisjoint({*self._filling, *self._threads.values()})


def _other_threads() -> set[int | None]:
    return {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}


def calling_frame() -> FrameType | None:
    """The frame of torch that runs the step of an optimizer and calls its hooks; the outermost frame without one."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_back is not None:
        if runs_step(frame):
            return frame
        frame = frame.f_back
    return frame


def runs_step(frame: FrameType | None) -> bool:
    """Whether a frame is that of torch which runs the step of an optimizer."""
    return frame is not None and frame.f_code.co_name == "wrapper" and frame.f_code.co_filename.endswith("optimizer.py")
