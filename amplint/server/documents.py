"""What the editor holds: texts, and notebooks of several, each as the bytes that a file would have."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from tokenize import detect_encoding
from urllib.parse import unquote

from lsprotocol import types
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument, Workspace

from amplint.source.languages import NOTEBOOK, PYTHON
from amplint.source.lines import LINE, lines_of

_LANGUAGE = "python"


class Text(TextDocument):
    """A text whose lines are those of the protocol; a form feed ends none."""

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines, with their ends."""
        return tuple(LINE.findall(self.source))


@dataclass(frozen=True)
class Part:
    """A text of its own, as the editor counts: a file, or a cell. `lines` are without their ends."""

    uri: str
    text: str
    version: int | None = None
    language: str = _LANGUAGE
    code: bool = True

    @property
    def lines(self) -> list[str]:
        """The lines, one more than there are line ends."""
        return lines_of(self.text)


@dataclass(frozen=True)
class Opened:
    """A file that is open. A notebook has its cells as parts, in order; everything else is one part."""

    uri: str
    path: str
    parts: tuple[Part, ...]
    notebook: bool = False

    def part(self, cell: int | None) -> Part | None:
        """The part that a place is in, by the number of its cell."""
        at = (cell or 1) - 1
        return self.parts[at] if at < len(self.parts) else None

    def cell_of(self, uri: str) -> int | None:
        """The number of the cell of that address; None where there are no cells."""
        return next((at for at, part in enumerate(self.parts, 1) if part.uri == uri), 1) if self.notebook else None

    @property
    def data(self) -> bytes:
        """The bytes that the file would have."""
        if not self.notebook:
            return _encoded(self.parts[0].text)
        cells = [
            {
                "cell_type": "code" if part.code else "markdown",
                "source": part.text,
                "metadata": {"vscode": {"languageId": part.language}},
            }
            for part in self.parts
        ]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()

    def texts(self, data: bytes) -> list[str]:
        """The texts of the parts in other bytes of the file."""
        if not self.notebook:
            return [data.decode(_encoding(data), "replace")]
        return [cell["source"] for cell in json.loads(data)["cells"]]


def _encoded(text: str) -> bytes:
    """A text as Python would have to find it in a file."""
    plain = text.encode("utf-8", "replace")
    encoding = _encoding(plain)
    return text.encode(encoding, "replace") if encoding != "utf-8" else plain


def _encoding(data: bytes) -> str:
    try:
        return detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError:
        return "utf-8"


def relined(workspace: Workspace) -> None:
    """Has the texts that the editor opened split into lines as the protocol splits them."""
    for uri, one in list(workspace.text_documents.items()):
        if not isinstance(one, Text):
            workspace.text_documents[uri] = Text(
                one.uri, one.source, one.version, one.language_id, position_codec=one.position_codec
            )


def opened(workspace: Workspace, uri: str) -> Opened | None:
    """A file or a notebook as the editor has it; None for one that is no Python."""
    notebook = workspace.get_notebook_document(notebook_uri=uri)
    if notebook is not None:
        parts = tuple(_cell(workspace, cell) for cell in notebook.cells)
        return Opened(uri, _path(uri, (NOTEBOOK,)), parts, notebook=True)
    text = workspace.text_documents.get(unquote(uri))
    if text is None or not (text.language_id == _LANGUAGE or _path(uri, ("",)).endswith(PYTHON)):
        return None
    return Opened(uri, _path(uri, PYTHON), (Part(uri, text.source, text.version),))


def _cell(workspace: Workspace, cell: types.NotebookCell) -> Part:
    text = workspace.text_documents.get(unquote(cell.document))
    code = cell.kind == types.NotebookCellKind.Code
    if text is None:
        return Part(cell.document, "", code=code)
    return Part(cell.document, text.source, text.version, text.language_id or _LANGUAGE, code)


def held(workspace: Workspace) -> Iterator[Opened]:
    """All files that are open."""
    for uri in (*workspace.notebook_documents, *workspace.text_documents):
        alone = workspace.get_notebook_document(cell_uri=uri) is None
        found = opened(workspace, uri) if alone else None
        if found is not None:
            yield found


def _path(uri: str, suffixes: tuple[str, ...]) -> str:
    """Where a file is, or would be: one that was never saved has a name without a folder."""
    path = to_fs_path(uri)
    if path is not None:
        return os.path.abspath(path)
    name = re.sub(r"\W+", "-", unquote(uri).rpartition("/")[2].rpartition(":")[2]) or "untitled"
    return os.path.abspath(name if name.endswith(suffixes) else f"{name}{suffixes[0]}")


def root_of(workspace: Workspace, path: str) -> str:
    """The folder of the workspace that a file is in, else that of the file."""
    uris = [folder.uri for folder in workspace.folders.values()] or [workspace.root_uri or ""]
    folders = [os.path.abspath(found) for uri in uris if uri and (found := to_fs_path(uri))]
    around = [folder for folder in folders if path.startswith(os.path.join(folder, ""))]
    return max(around, key=len, default=os.path.dirname(path))
