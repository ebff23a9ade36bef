"""What is open in the editor, and what is known of it: checked again a moment after each change, and told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from pygls.workspace import Workspace

from amplint.server.documents import Opened, held, root_of
from amplint.server.options import Options
from amplint.server.questions import Answer, Kind, Question
from amplint.server.worker import Worker

PAUSE = 0.1
"""Seconds without a change after which a file is checked."""

Tell = Callable[[Opened, Answer, str], None]
"""What is done with the answer of a check: about which file, and from which folder it was asked."""


@dataclass
class Known:
    """A file as it is open now, what was asked about it, and from which folder."""

    file: Opened
    root: str
    asked: dict[Kind, asyncio.Task[Answer]] = field(default_factory=dict)

    def forget(self) -> None:
        """Nobody waits for an answer any more: the file is another one."""
        for task in self.asked.values():
            task.cancel()
        self.asked.clear()


class Session:
    """The files that are open. A change of one may change what is wrong in others, so all are checked again."""

    def __init__(self, tell: Tell) -> None:
        self.options = Options()
        self.workspace: Workspace | None = None
        self._tell = tell
        self._worker = Worker()
        self._known: dict[str, Known] = {}

    def begin(self, workspace: Workspace) -> None:
        """Files may be opened now, and the process that checks them is ready soon."""
        self.workspace = workspace
        self._worker.start()

    def end(self) -> None:
        """Nothing is checked any more."""
        for known in self._known.values():
            known.forget()
        self._known.clear()
        self._worker.end()

    def changed(self, uri: str | None = None, pause: float = PAUSE) -> None:
        """Has all files checked, the one that changed first; what was asked of them before is out of date."""
        assert self.workspace is not None
        files = sorted(held(self.workspace), key=lambda file: (file.uri != uri, file.uri))
        for file in files:
            known = self._known.get(file.uri)
            if known is not None:
                known.forget()
            self._known[file.uri] = Known(file, root_of(self.workspace, file.path))
        for file in files:
            self._asks(self._known[file.uri], Kind.CHECK, pause)

    def closed(self, uri: str) -> None:
        """A file is not open any more."""
        known = self._known.pop(uri, None)
        if known is not None:
            known.forget()

    def known(self, uri: str) -> Known | None:
        """What is known of a file, or of the notebook that a cell is part of."""
        assert self.workspace is not None
        notebook = self.workspace.get_notebook_document(cell_uri=uri)
        return self._known.get(notebook.uri if notebook is not None else uri)

    async def answer(self, known: Known, kind: Kind) -> Answer | None:
        """The answer to a question about a file as it is now; None if it has changed before there was one."""
        now: Known | None = known
        while now is not None and now.file == known.file:  # other files and settings may change meanwhile
            task = self._asks(now, kind)
            await asyncio.wait([task])
            if not task.cancelled():
                return task.result()
            now = self._known.get(known.file.uri)
        return None

    def _asks(self, known: Known, kind: Kind, pause: float = 0) -> asyncio.Task[Answer]:
        if kind not in known.asked:
            known.asked[kind] = asyncio.ensure_future(self._asked(known, kind, pause))
        return known.asked[kind]

    async def _asked(self, known: Known, kind: Kind, pause: float) -> Answer:
        await asyncio.sleep(pause)
        texts = {one.file.path: one.file.data for one in self._known.values()}
        found = await self._worker.answer(Question(kind, known.file.path, known.root, texts, self.options))
        if kind is Kind.CHECK or found.trouble or found.fault:
            self._tell(known.file, found, known.root)
        return found
