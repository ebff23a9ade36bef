"""Listens to updates of weight averages, of the classes that are loaded."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import GeneratorType
from typing import Any

from torch import Tensor, nn

from amplint.dialects.averages import AVERAGES
from amplint.protocol.events import Kind
from runtime_guard.hooks import Replaced
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

    def updates(self, args: Any, kwargs: Any) -> Any:
        """An event for each optimizer whose weights are taken in. A generator of parameters is read, and passed on."""
        name, handed = ("", args[1]) if len(args) > 1 else next(iter(kwargs.items()), ("", None))
        read = list(handed) if isinstance(handed, GeneratorType) else handed
        recorder = self._recorder
        stack = recorder.sites.stack()
        for _, optimizer in recorder.owners_of(_tensors(read)):
            recorder.feed(Kind.AVERAGE, optimizer=optimizer, stack=stack)
        if read is handed:
            return None
        given = (args[0], read, *args[2:]) if not name else args
        return Replaced(None, given, {**kwargs, name: read} if name else kwargs)


def _tensors(handed: Any) -> Iterable[Tensor]:
    """The weights of a model, or those that were handed one by one."""
    if isinstance(handed, nn.Module):
        return handed.parameters()
    return [one for one in handed if isinstance(one, Tensor)] if isinstance(handed, list) else []
