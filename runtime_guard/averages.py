"""Listens to updates of weight averages, of the classes that are loaded."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any

from torch import Tensor, nn

from amplint.dialects.averages import AVERAGES
from amplint.protocol.events import Kind
from runtime_guard.recorder import Recorder


def averaging() -> Iterator[tuple[type, str]]:
    """The loaded classes that keep an average, each once, and the method that each defines to update it."""
    seen: set[type] = set()
    for name, method in AVERAGES.items():
        module, _, last = name.rpartition(".")
        found = vars(sys.modules[module]).get(last) if module in sys.modules else None
        if isinstance(found, type) and found not in seen and method in vars(found):
            seen.add(found)
            yield found, method


class Averages:
    """The listener at the methods that update an average."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def updates(self, args: Any, kwargs: Any) -> None:
        """An event for each optimizer whose weights are taken in."""
        handed = args[1] if len(args) > 1 else next(iter(kwargs.values()), None)
        recorder = self._recorder
        stack = recorder.sites.stack()
        for _, optimizer in recorder.owners_of(_tensors(handed)):
            recorder.feed(Kind.AVERAGE, optimizer=optimizer, stack=stack)


def _tensors(handed: Any) -> Iterable[Tensor]:
    """The weights of a model, or those that were handed one by one."""
    if isinstance(handed, nn.Module):
        return handed.parameters()
    return [one for one in handed if isinstance(one, Tensor)] if isinstance(handed, list) else []
