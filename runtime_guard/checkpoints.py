"""Listens to what is saved and loaded beside the model, for the rules about checkpoints.

States are known by their keys, wherever they come from. Nothing is kept of them but whether they were there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amplint.protocol.events import Site
from amplint.protocol.facts import LOADED, SAVED, Fact
from runtime_guard.recorder import Recorder

_OPTIMIZER_KEYS = frozenset({"state", "param_groups"})
_SCALER_KEYS = frozenset({"scale", "growth_factor", "backoff_factor"})
_DEPTH, _WIDTH = 4, 64  # states stand near the top of a checkpoint


class Checkpoints:
    """The listeners at torch.save, torch.load, and the states of scalers and optimizers."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        recorder.at_end.append(self._ends)
        self._saved: Site | None = None
        self._loaded: Site | None = None
        self._steps_before = 0
        self._kept = self._in_file = self._restored = False

    def saves(self, args: Any, kwargs: Any) -> None:
        """What a file is made of."""
        states = set(_states(args[0] if args else kwargs.get("obj"), _DEPTH))
        self._kept = self._kept or "scaler" in states
        if "optimizer" in states and self._saved is None and self._steps():
            self._saved = self._recorder.sites.stack()[-1]

    def read(self, token: Any, loaded: Any) -> None:
        """What a file held."""
        self._in_file = self._in_file or "scaler" in _states(loaded, _DEPTH)

    def state_of_scaler(self, args: Any, kwargs: Any) -> None:
        """Somebody asks for a scaler's state, and knows what to do with it."""
        self._kept = True

    def restores_scaler(self, args: Any, kwargs: Any) -> None:
        """A scaler's state does not begin where it was made."""
        recorder, self._restored = self._recorder, True
        recorder.makers.pop(recorder.scalers.of(args[0]) or "", None)

    def restores_optimizer(self, args: Any, kwargs: Any) -> None:
        """An optimizer goes on where another run, or an earlier part of this one, has stopped."""
        if self._loaded is None:
            self._loaded, self._steps_before = self._recorder.sites.stack()[-1], self._steps()

    def _steps(self) -> int:
        """The steps through scalers that are enabled."""
        return sum(steps for steps, _ in self._recorder.course.counted.scalers.values())

    def _ends(self) -> None:
        """Tells the rules what was left out in a run that used a scaler."""
        without: dict[int | str, object] = {"optimizer": True, "scaler": False}
        if self._saved is not None and not self._kept:
            self._recorder.fact(Fact(SAVED, self._saved, without))
        stepped = self._steps() > self._steps_before
        if self._loaded is not None and (self._kept or self._in_file) and not self._restored and stepped:
            self._recorder.fact(Fact(LOADED, self._loaded, without))


def _states(thing: Any, depth: int) -> Iterator[str]:
    """`optimizer` and `scaler`, as often as their states stand in a checkpoint."""
    if isinstance(thing, dict):
        if thing.keys() >= _SCALER_KEYS:
            yield "scaler"
        elif thing.keys() >= _OPTIMIZER_KEYS:
            yield "optimizer"
        elif depth:
            for value in list(thing.values())[:_WIDTH]:
                yield from _states(value, depth - 1)
    elif isinstance(thing, list | tuple) and depth:
        for value in thing[:_WIDTH]:
            yield from _states(value, depth - 1)
