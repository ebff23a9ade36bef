"""An editor: a client of the language server, which it starts as a process and speaks to over stdio."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from lsprotocol import types
from pygls.lsp.client import LanguageClient

PATIENCE = 60  # seconds; what takes longer is lost
RESOLVES = types.ClientCodeActionResolveOptions(["edit"])
Made = TypeVar("Made")


class Editor:
    """What an editor holds and is told. `units`: how it counts columns; `resolves`: it asks for edits when it needs
    them."""

    def __init__(self, folder: Path, units: str = "utf-16", resolves: bool = True) -> None:
        self.folder, self.units, self.resolves = folder, units, resolves
        self.client = LanguageClient("editor", "1")
        self.marks: dict[str, tuple[int | None, list[types.Diagnostic]]] = {}
        self.said: list[str] = []
        self.shown: list[str] = []
        self.opened: list[str] = []
        self.versions: list[int] = []
        self.settings: dict[str, object] = {}
        self._news = asyncio.Event()
        self._listen()

    def _listen(self) -> None:
        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def marked(params: types.PublishDiagnosticsParams) -> None:
            self.versions += [params.version] if params.version is not None else []
            self.marks[params.uri] = params.version, list(params.diagnostics)
            self._news.set()

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)
        def message(params: types.ShowMessageParams) -> None:
            self.said.append(params.message)
            self._news.set()

        @self.client.feature(types.WINDOW_SHOW_DOCUMENT)
        def show(params: types.ShowDocumentParams) -> types.ShowDocumentResult:
            self.shown.append(params.uri)
            return types.ShowDocumentResult(success=True)

        @self.client.feature(types.WORKSPACE_CONFIGURATION)
        def configuration(params: types.ConfigurationParams) -> list[object]:
            return [self.settings for _ in params.items]

    async def begin(self) -> None:
        await self.client.start_io(sys.executable, "-m", "amplint", "server", cwd=self.folder)
        action = types.CodeActionClientCapabilities(
            data_support=self.resolves, resolve_support=RESOLVES if self.resolves else None
        )
        able = types.ClientCapabilities(
            general=types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind(self.units)]),
            text_document=types.TextDocumentClientCapabilities(code_action=action),
            window=types.WindowClientCapabilities(show_document=types.ShowDocumentClientCapabilities(support=True)),
            workspace=types.WorkspaceClientCapabilities(configuration=True),
        )
        folder = types.WorkspaceFolder(self.folder.as_uri(), "project")
        await self.client.initialize_async(types.InitializeParams(able, workspace_folders=[folder]))
        self.client.initialized(types.InitializedParams())

    async def end(self) -> int | None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        process = self.client._server
        assert process is not None
        code = await asyncio.wait_for(process.wait(), PATIENCE)
        await self.client.stop()
        return code

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str) -> str:
        item = types.TextDocumentItem(self.uri(name), "python", 1, text)
        self.opened.append(item.uri)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return item.uri

    def close(self) -> None:
        """Closes all texts; what was marked, said and shown is forgotten."""
        for uri in self.opened:
            document = types.TextDocumentIdentifier(uri)
            self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))
        for kept in (self.opened, self.marks, self.said, self.shown, self.versions):
            kept.clear()

    def configure(self, settings: dict[str, object]) -> None:
        self.settings = settings
        self.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({}))

    def change(self, uri: str, version: int, text: str, where: types.Range | None = None) -> None:
        """Another text, or another one at a place."""
        document = types.VersionedTextDocumentIdentifier(version, uri)
        new = (
            types.TextDocumentContentChangeWholeDocument(text)
            if where is None
            else types.TextDocumentContentChangePartial(where, text)
        )
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [new]))

    async def marked(self, uri: str, version: int | None = 1) -> list[types.Diagnostic]:
        """What is marked in a version of a text, once that is known."""
        await self.until(lambda: self.marks.get(uri, (-1, []))[0] == version)
        return self.marks[uri][1]

    async def until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await asyncio.wait_for(self._news.wait(), PATIENCE)
            self._news.clear()

    async def actions(self, uri: str, where: types.Range, *only: str) -> list[types.CodeAction | types.Command]:
        context = types.CodeActionContext([], only=list(only) or None)
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), where, context)
        found = await self.client.text_document_code_action_async(params)
        return list(found or [])

    async def hover(self, uri: str, row: int, column: int) -> str:
        at = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(row, column))
        found = await self.client.text_document_hover_async(at)
        return found.contents.value if found is not None and isinstance(found.contents, types.MarkupContent) else ""

    async def hints(self, uri: str) -> list[tuple[int, str]]:
        everything = types.Range(types.Position(0, 0), types.Position(9999, 0))
        found = await self.client.text_document_inlay_hint_async(
            types.InlayHintParams(types.TextDocumentIdentifier(uri), everything)
        )
        return [(one.position.line, str(one.label)) for one in found or []]


def edited(text: str, edits: list[types.TextEdit]) -> str:
    """A text of one-unit characters after edits that do not overlap, as an editor makes them."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for edit in sorted(edits, key=lambda one: (one.range.start.line, one.range.start.character), reverse=True):
        first, last = (starts[at.line] + at.character for at in (edit.range.start, edit.range.end))
        text = text[:first] + edit.new_text + text[last:]
    return text


class Desk:
    """Editors, each of which stays open for the next part that is played with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._runner = asyncio.new_event_loop()
        self._editors: dict[tuple[str, bool], Editor] = {}

    def play(self, part: Callable[[Editor], Awaitable[Made]], units: str = "utf-16", resolves: bool = True) -> Made:
        """What comes of a part that is played with an editor; all that was opened in it is closed."""
        return self._runner.run_until_complete(self._played(part, units, resolves))

    async def _played(self, part: Callable[[Editor], Awaitable[Made]], units: str, resolves: bool) -> Made:
        if (units, resolves) not in self._editors:
            self._editors[units, resolves] = Editor(self.folder, units, resolves)
            await self._editors[units, resolves].begin()
        editor = self._editors[units, resolves]
        try:
            return await part(editor)
        finally:
            editor.close()

    def end(self) -> list[int | None]:
        """The exit codes of the servers, whose sessions end."""
        codes = [self._runner.run_until_complete(editor.end()) for editor in self._editors.values()]
        self._runner.close()
        return codes
