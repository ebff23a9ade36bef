"""What can be done about a finding from within an editor: mend it, live with it, or read of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from lsprotocol import types
from pygls.workspace import PositionCodec

from amplint.findings import Edit, Finding, Fix
from amplint.server.documents import Opened, Part
from amplint.server.positions import edits_of, range_of, touches
from amplint.server.questions import Told

PAGE = "amplint.page"
"""The command that opens the page of a rule."""
FIX_ALL = "source.fixAll.amplint"
_MEANS = {"safe": "", "unsafe": " (a guess at what was meant)"}


def at(told: Iterable[Told], file: Opened, uri: str, where: types.Range, codec: PositionCodec) -> Iterator[Told]:
    """The findings that a selection touches."""
    for one in told:
        part = file.part(one.finding.place.cell)
        if part is not None and part.uri == uri and touches(range_of(one.finding.place, part.lines, codec), where):
            yield one


def wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Whether a kind of action is asked for: itself, or one that it is a part of."""
    return only is None or any(kind == one or kind.startswith(f"{one}.") for one in only)


def key_of(finding: Finding) -> dict[str, Any]:
    """What a finding is known by until its file changes."""
    place = finding.place
    return {"code": finding.code, "message": finding.message, "place": [place.row, place.column, place.cell]}


def to_mend(file: Opened, finding: Finding) -> types.CodeAction:
    """The fix of a finding, which is looked for when it is chosen."""
    title = f"Mend {finding.code}: {finding.advice}" if finding.advice else f"Mend {finding.code}"
    data = {"uri": file.uri, **key_of(finding)}
    return types.CodeAction(title, kind=types.CodeActionKind.QuickFix, data=data)


def mended(finding: Finding, file: Opened, codec: PositionCodec, versioned: bool) -> types.CodeAction | None:
    """The fix of a finding, if it has one that is proved."""
    fix: Fix | None = finding.fix
    if fix is None or fix.applicability not in _MEANS:
        return None
    return types.CodeAction(
        f"Mend {finding.code}: {fix.message}{_MEANS[fix.applicability]}",
        kind=types.CodeActionKind.QuickFix,
        is_preferred=fix.applicability == "safe" or None,
        edit=workspace_edit(file, fix.edits, codec, versioned),
    )


def ignored(one: Told, file: Opened, codec: PositionCodec, versioned: bool) -> types.CodeAction | None:
    """The comment that silences a finding."""
    if not one.ignored:
        return None
    edit = workspace_edit(file, one.ignored, codec, versioned)
    return types.CodeAction(f"Ignore {one.finding.code} here", kind=types.CodeActionKind.QuickFix, edit=edit)


def to_read(finding: Finding) -> types.Command:
    """The page of the rule."""
    return types.Command(f"What {finding.code} says", PAGE, arguments=[finding.code])


def to_mend_all(file: Opened) -> types.CodeAction:
    """All fixes that may be made, which are looked for when this is chosen."""
    return types.CodeAction("Make all safe fixes of amplint", kind=FIX_ALL, data={"uri": file.uri})


def workspace_edit(file: Opened, edits: Iterable[Edit], codec: PositionCodec, versioned: bool) -> types.WorkspaceEdit:
    """Edits of a file, as an editor makes them in its parts."""
    by_part: dict[int, list[Edit]] = {}
    for edit in edits:
        by_part.setdefault((edit.place.cell or 1) - 1, []).append(edit)
    parts = {file.parts[at]: edits_of(some, file.parts[at].lines, codec) for at, some in by_part.items()}
    return _changes(parts, versioned)


def rewritten(file: Opened, data: bytes, codec: PositionCodec, versioned: bool) -> types.WorkspaceEdit:
    """What makes a file one that has other bytes."""
    texts = zip(file.parts, file.texts(data), strict=True)
    return _changes({part: [_replaced(part, text, codec)] for part, text in texts if text != part.text}, versioned)


def _replaced(part: Part, text: str, codec: PositionCodec) -> types.TextEdit:
    """One edit that holds all that is different."""
    same = _alike(part.text, text)
    most = min(len(part.text), len(text)) - same
    end = min(most, _alike(part.text[::-1], text[::-1]))
    start, stop = (_position(part.text[:at], codec) for at in (same, len(part.text) - end))
    return types.TextEdit(types.Range(start, stop), text[same : len(text) - end])


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _position(before: str, codec: PositionCodec) -> types.Position:
    """The position behind a text."""
    lines = Part("", before).lines
    return types.Position(len(lines) - 1, codec.client_num_units(lines[-1]))


def _changes(edits: Mapping[Part, list[types.TextEdit]], versioned: bool) -> types.WorkspaceEdit:
    if not versioned:
        return types.WorkspaceEdit(changes={part.uri: some for part, some in edits.items()})
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(part.uri, part.version), [*some])
            for part, some in edits.items()
        ]
    )
