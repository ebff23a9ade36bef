"""The process that answers questions, one after the other. One that nobody waits for any more ends with its process.

Where the system can fork, a new process is one of milliseconds: it comes from another one that has read the libraries
already, and has analysed something once.
"""

from __future__ import annotations

import asyncio
import os
from multiprocessing import Pipe, get_all_start_methods, get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from amplint.server.questions import Answer, Question

_WARM = "amplint.server.warm"
_LOST = "the process that was checking this file ended without a word (out of memory or stack?)"


class Worker:
    """One process at a time, started when there is a question."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._running: tuple[BaseProcess, Connection] | None = None

    async def answer(self, question: Question) -> Answer:
        """The answer, when all earlier questions have theirs. Where the wait is cancelled, nobody looks for it."""
        async with self._turn:
            connection = self.start()
            try:
                connection.send(question)
                found: Answer = await asyncio.get_running_loop().run_in_executor(None, connection.recv)
                return found
            except (EOFError, OSError):
                self.end()
                return Answer(fault=_LOST)
            except asyncio.CancelledError:
                self.end()
                raise

    def start(self) -> Connection:
        """The way to the process, which is there now."""
        if self._running is None or not self._running[0].is_alive():
            mine, its = Pipe()
            process: BaseProcess
            if "forkserver" in get_all_start_methods():
                context = get_context("forkserver")
                context.set_forkserver_preload([_WARM])
                process = context.Process(target=work, args=(its,), daemon=True)
            else:
                process = get_context("spawn").Process(target=work, args=(its,), daemon=True)
            process.start()
            its.close()
            self._running = process, mine
        return self._running[1]

    def end(self) -> None:
        """The end of the process, and of whatever it is doing."""
        if self._running is not None:
            process, _ = self._running
            self._running = None
            process.kill()
            process.join()


def work(connection: Connection) -> None:
    """Answers whatever is asked, until nobody can ask any more."""
    from amplint.server.questions import answered
    from amplint.workers import depend_on_the_parent

    depend_on_the_parent()
    os.dup2(2, 1)  # what is said to stdout would reach the editor
    while True:
        try:
            question = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(answered(question))
