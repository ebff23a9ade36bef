"""Listens to the end of an epoch, where it can be seen: torch's DataLoader runs out in the loop that trains.

A loader that runs out says nothing by itself: it may serve validation in the middle of a window, or a prefetcher that
is a batch ahead. It is the end of an epoch only if the loop that asks it is one that the backward passes come from, and
if as many backward passes (or twice as many, ...) have been made since its first batch as it has delivered batches.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any

from amplint.protocol.events import Kind
from runtime_guard.recorder import Recorder


class Epochs:
    """The listener at `_BaseDataLoaderIter.__next__`."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._delivered: weakref.WeakKeyDictionary[Any, tuple[int, int]] = weakref.WeakKeyDictionary()

    def asked(self, args: Any, kwargs: Any) -> Any:
        """The iterator."""
        return args[0]

    def delivered(self, iterator: Any, batch: Any) -> None:
        """One batch more; with the first, how many backward passes there have been."""
        if iterator not in self._delivered:
            self._recorder.course.pending()
        count, began = self._delivered.get(iterator, (0, self._recorder.passes))
        self._delivered[iterator] = (count + 1, began)

    def ran_out(self, iterator: Any) -> None:
        """The event, if the end of the iterator is the end of an epoch."""
        if not isinstance(sys.exc_info()[1], StopIteration):
            return
        recorder = self._recorder
        recorder.course.pending()  # what has passed by is counted
        count, began = self._delivered.pop(iterator, (0, 0))
        passes = recorder.passes - began
        if count == 0 or passes == 0 or passes % count:
            return
        stack = recorder.sites.stack()
        if recorder.sites.code_of.get(stack[-1]) in recorder.training:
            recorder.look()
            recorder.feed(Kind.EPOCH_END, stack=stack)
