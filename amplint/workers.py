"""One function over many items, in this process or in several, with the same results in whichever order they are done.

A pool costs about half a second before its first result (each process imports LibCST), so it has to be worth it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

Item = TypeVar("Item")
Result = TypeVar("Result")

WORTH_A_POOL = 8  # items; a file with a training loop takes between a tenth of a second and several
PER_PROCESS = 3  # items at least
UNDER_WAY = 16  # items that are tried alone after a process was lost, before there is a pool again


def spread(
    work: Callable[[Item], Result], items: Sequence[Item], lost: Callable[[Item], Result], jobs: int | None = None
) -> Iterator[tuple[int, Result]]:
    """The result for each item, with its number, as they are done. `lost` tells what becomes of an item that takes its
    process down with it.

    `jobs` is the most processes to use; None is one for each usable core.
    """
    processes = min(jobs or _cores(), len(items) // PER_PROCESS)
    if processes < 2 or len(items) < WORTH_A_POOL:
        return enumerate(map(work, items))
    return _pooled(work, items, lost, processes)


def _pooled(
    work: Callable[[Item], Result], items: Sequence[Item], lost: Callable[[Item], Result], processes: int
) -> Iterator[tuple[int, Result]]:
    from concurrent.futures.process import BrokenProcessPool

    left = dict(enumerate(items))
    while left:
        try:
            for at, result in _in_processes(work, dict(left), processes):
                del left[at]
                yield at, result
        except BrokenProcessPool:  # some item killed its process: those that were under way get one each
            for at in list(left)[:UNDER_WAY]:
                item = left.pop(at)
                try:
                    yield from _in_processes(work, {at: item}, 1)
                except BrokenProcessPool:
                    yield at, lost(item)


def _in_processes(
    work: Callable[[Item], Result], items: Mapping[int, Item], processes: int
) -> Iterator[tuple[int, Result]]:
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import active_children, get_all_start_methods, get_context

    # Not "fork": a process that holds threads (an editor's, a test runner's) must not be forked.
    method = "forkserver" if "forkserver" in get_all_start_methods() else "spawn"
    pool = ProcessPoolExecutor(processes, mp_context=get_context(method), initializer=depend_on_the_parent)
    others = active_children()
    try:
        numbers = {pool.submit(work, item): at for at, item in items.items()}
        for future in as_completed(numbers):
            yield numbers[future], future.result()
    except KeyboardInterrupt:  # what is under way may take minutes, and nobody waits for it any more
        for process in active_children():
            if process not in others:
                process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def depend_on_the_parent() -> None:
    """Leaves interrupts and warnings to the parent, and ends with it: one that is killed can tell nobody, and a process
    of the pool holds the other end of the queue that it waits at (CPython 3.10 to 3.13): it would wait for ever."""
    import signal
    import warnings
    from multiprocessing import parent_process
    from threading import Thread

    warnings.simplefilter("ignore")  # what Python thinks of the user's code is not for us to say
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def _cores() -> int:
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1
