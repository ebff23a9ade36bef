"""The language server: what an editor may ask and tell, over stdin and stdout."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from amplint import __version__
from amplint.catalogue.pages import page
from amplint.report.links import rule_url
from amplint.selection import known_rules
from amplint.server import actions, hovers
from amplint.server.diagnostics import diagnostics
from amplint.server.documents import Opened, relined
from amplint.server.options import SECTION, options_of
from amplint.server.questions import Answer, Kind
from amplint.server.session import Known, Session

_NOTEBOOKS = types.NotebookDocumentSyncOptions([types.NotebookDocumentFilterWithNotebook("jupyter-notebook")])
_ACTIONS = types.CodeActionOptions([types.CodeActionKind.QuickFix, actions.FIX_ALL], resolve_provider=True)
_WATCHED = ("**/*.py", "**/pyproject.toml")


class Server(LanguageServer):
    """The server, and the session with its editor."""

    def __init__(self) -> None:
        super().__init__("amplint", __version__, notebook_document_sync=_NOTEBOOKS, max_workers=4)
        self.session = Session(self._told)
        self._said: set[str] = set()

    # --- what is told ------------------------------------------------------------------------------------------------

    def _told(self, file: Opened, answer: Answer, root: str) -> None:
        """Tells what was found in a file."""
        if answer.fault:
            self.window_log_message(types.LogMessageParams(types.MessageType.Error, answer.fault))
        for line in filter(
            None, (answer.trouble, answer.fault and f"{file.path}: a fault of amplint's own, see its log")
        ):
            self.warn(line)
        found = diagnostics(answer, file, root, self.workspace.position_codec)
        versions = {part.uri: part.version for part in file.parts}
        for uri, marks in found.items():
            self.publish(uri, marks, versions[uri])

    def publish(self, uri: str, marks: list[types.Diagnostic], version: int | None = None) -> None:
        """Has the editor mark a text, and nothing else in it."""
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, marks, version))

    def warn(self, line: str) -> None:
        """Says a line to the user, once for as long as the settings are the same."""
        if line not in self._said:
            self._said.add(line)
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"amplint: {line}"))

    def configured(self, told: object) -> None:
        """Takes over the editor's settings."""
        self.session.options, wrong = options_of(told)
        self._said.clear()
        for line in wrong:
            self.warn(line)

    # --- what the editor can do --------------------------------------------------------------------------------------

    @property
    def versioned(self) -> bool:
        """Whether the editor refuses edits of a text that has changed since."""
        workspace = self.client_capabilities.workspace
        edit = workspace.workspace_edit if workspace is not None else None
        return bool(edit is not None and edit.document_changes)

    @property
    def resolves(self) -> bool:
        """Whether the editor asks for an edit when an action is chosen."""
        text = self.client_capabilities.text_document
        action = text.code_action if text is not None else None
        support = action.resolve_support if action is not None and action.data_support else None
        return support is not None and "edit" in support.properties

    @property
    def shows_documents(self) -> bool:
        """Whether the editor opens a document when it is asked to."""
        window = self.client_capabilities.window
        return bool(window is not None and window.show_document and window.show_document.support)

    async def ask_settings(self) -> None:
        """Takes over the settings of an editor that has to be asked for them, and has all files checked if they are
        others than before."""
        before = self.session.options
        workspace = self.client_capabilities.workspace
        if workspace is not None and workspace.configuration:
            item = types.ConfigurationItem(section=SECTION)
            found = await self.workspace_configuration_async(types.ConfigurationParams([item]))
            if found and found[0]:
                self.configured(found[0])
        if self.session.options != before:
            self.session.changed()

    async def watch_files(self) -> None:
        """Has an editor that can tell of the files that somebody else changes."""
        workspace = self.client_capabilities.workspace
        watched = workspace.did_change_watched_files if workspace is not None else None
        if watched is not None and watched.dynamic_registration:
            options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(one) for one in _WATCHED])
            name = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            asked = types.RegistrationParams([types.Registration("amplint-files", name, options)])
            await self.client_register_capability_async(asked)

    # --- what is asked of a file -------------------------------------------------------------------------------------

    async def hover(self, uri: str, at: types.Position) -> types.Hover | None:
        """The pages of the findings at a position, or the drawing of a training loop that begins there."""
        known, codec = self.session.known(uri), self.workspace.position_codec
        checked = await self.session.answer(known, Kind.CHECK) if known is not None else None
        if known is None or checked is None:
            return None
        found = hovers.hover_on_findings(checked.told, known.file, uri, at, codec)
        if found is not None:
            return found
        understood = await self.session.answer(known, Kind.LOOPS)
        return hovers.hover_on_loops(understood.loops, known.file, uri, at, codec) if understood is not None else None

    async def hints(self, uri: str, visible: types.Range) -> list[types.InlayHint]:
        """What stands beside the code, if that is asked for."""
        known = self.session.known(uri)
        if known is None or not self.session.options.hints:
            return []
        found = await self.session.answer(known, Kind.LOOPS)
        loops = found.loops if found is not None else ()
        return list(hovers.hints(loops, known.file, uri, visible, self.workspace.position_codec))

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
        """What can be done about the findings that a selection touches."""
        uri, only = params.text_document.uri, params.context.only
        known, codec = self.session.known(uri), self.workspace.position_codec
        checked = await self.session.answer(known, Kind.CHECK) if known is not None else None
        if known is None or checked is None:
            return []
        found: list[types.CodeAction | types.Command | None] = []
        here = list(actions.at(checked.told, known.file, uri, params.range, codec))
        if actions.wanted(types.CodeActionKind.QuickFix, only):
            for one in here:
                mending = one.mendable and (self.resolves or await self._mended(known, actions.key_of(one.finding)))
                action = actions.to_mend(known.file, one.finding) if mending is True else mending
                found += [action or None, actions.ignored(one, known.file, codec, self.versioned)]
                found += [actions.to_read(one.finding)] if self.shows_documents else []
        if actions.wanted(actions.FIX_ALL, only) and any(one.mendable for one in (checked.told if only else here)):
            action = actions.to_mend_all(known.file)
            asked = only is not None and not self.resolves
            found += [action] if self.resolves else [await self.resolved(action)] if asked else []
        return [action for action in found if action is not None]

    async def _mended(self, known: Known, key: dict[str, Any]) -> types.CodeAction | None:
        """The proved fix of the finding that is known by that, if it has one."""
        found = await self.session.answer(known, Kind.MEND)
        for one in found.told if found is not None else ():
            if actions.key_of(one.finding) == key:
                return actions.mended(one.finding, known.file, self.workspace.position_codec, self.versioned)
        return None

    async def resolved(self, action: types.CodeAction) -> types.CodeAction:
        """An action with its edit; without one, where no fix is proved, which is said."""
        data = action.data if isinstance(action.data, dict) else {}
        known = self.session.known(str(data.get("uri")))
        if known is None:
            return action
        if action.kind == actions.FIX_ALL:
            found = await self.session.answer(known, Kind.MEND_ALL)
            if found is not None and found.data is not None:
                action.edit = actions.rewritten(known.file, found.data, self.workspace.position_codec, self.versioned)
            return action
        made = await self._mended(known, {key: value for key, value in data.items() if key != "uri"})
        if made is not None:
            action.edit = made.edit
        else:
            line = f"no fix of {data.get('code')} is proved here; what to do is for you to decide"
            self.window_show_message(types.ShowMessageParams(types.MessageType.Info, f"amplint: {line}"))
        return action

    async def show_page(self, rule: str) -> None:
        """Opens the page of a rule: on the documentation site, or as a file."""
        url = rule_url(rule)
        if url is None:
            file = Path(tempfile.gettempdir()) / f"amplint-{os.getpid()}" / f"{rule}.md"
            file.parent.mkdir(exist_ok=True)
            file.write_text(page(known_rules()[rule], "markdown"), encoding="utf-8")
        shown = types.ShowDocumentParams(url or file.as_uri(), external=url is not None)
        await self.window_show_document_async(shown)


def server() -> Server:
    """A server that answers whatever an editor asks."""
    made = Server()
    _about_the_session(made)
    _about_documents(made)
    _about_requests(made)
    return made


def _about_the_session(made: Server) -> None:
    @made.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        made.configured(params.initialization_options)

    @made.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        made.session.begin(made.workspace)
        await made.watch_files()
        await made.ask_settings()

    @made.feature(types.SHUTDOWN)
    def shutdown(*params: object) -> None:
        made.session.end()

    @made.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configuration(params: types.DidChangeConfigurationParams) -> None:
        if params.settings:
            made.configured(params.settings)
            made.session.changed()
        await made.ask_settings()

    @made.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def files(params: types.DidChangeWatchedFilesParams) -> None:
        made.session.changed()

    @made.command(actions.PAGE)
    async def show_page(rule: str) -> None:
        await made.show_page(rule)


def _about_documents(made: Server) -> None:
    @made.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def text_opened(params: types.DidOpenTextDocumentParams) -> None:
        relined(made.workspace)
        made.session.changed(params.text_document.uri, pause=0)

    @made.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def text_changed(params: types.DidChangeTextDocumentParams) -> None:
        made.session.changed(params.text_document.uri)

    @made.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def text_closed(params: types.DidCloseTextDocumentParams) -> None:
        closed(params.text_document.uri, [params.text_document.uri])

    @made.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def notebook_opened(params: types.DidOpenNotebookDocumentParams) -> None:
        relined(made.workspace)
        made.session.changed(params.notebook_document.uri, pause=0)

    @made.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def notebook_changed(params: types.DidChangeNotebookDocumentParams) -> None:
        relined(made.workspace)
        made.session.changed(params.notebook_document.uri)

    @made.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def notebook_closed(params: types.DidCloseNotebookDocumentParams) -> None:
        closed(params.notebook_document.uri, [cell.uri for cell in params.cell_text_documents])

    def closed(uri: str, parts: Sequence[str]) -> None:
        made.session.closed(uri)
        for part in parts:
            made.publish(part, [])
        made.session.changed()


def _about_requests(made: Server) -> None:
    @made.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        return await made.hover(params.text_document.uri, params.position)

    @made.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hints(params: types.InlayHintParams) -> list[types.InlayHint]:
        return await made.hints(params.text_document.uri, params.range)

    @made.feature(types.TEXT_DOCUMENT_CODE_ACTION, _ACTIONS)
    async def code_actions(params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
        return await made.actions(params)

    @made.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        return await made.resolved(action)


def serve() -> int:
    """Serves an editor until it ends the session: the exit code."""
    made = server()
    try:
        made.start_io()
    finally:
        made.session.end()
    return 0
