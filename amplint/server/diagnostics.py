"""Findings as an editor marks them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from lsprotocol import types
from pygls.uris import from_fs_path
from pygls.workspace import PositionCodec

from amplint.findings import Finding, Severity
from amplint.report.json_list import said
from amplint.report.links import rule_url
from amplint.report.snippet import lines_of
from amplint.server.documents import Opened
from amplint.server.positions import range_of
from amplint.server.questions import Answer
from amplint.source.comments import UNUSED

SOURCE = "amplint"


def diagnostics(answer: Answer, file: Opened, root: str, codec: PositionCodec) -> dict[str, list[types.Diagnostic]]:
    """What is told of each part of a file, by its address; nothing, of those of which nothing is."""
    found: dict[str, list[types.Diagnostic]] = {part.uri: [] for part in file.parts}
    for one in answer.told:
        part = file.part(one.finding.place.cell)
        if part is not None:
            where = range_of(one.finding.place, part.lines, codec)
            led = list(_led(one.finding, file, answer.texts, root, codec))
            found[part.uri].append(_diagnostic(one.finding, where, led))
    return found


def _diagnostic(
    finding: Finding, where: types.Range, led: list[types.DiagnosticRelatedInformation]
) -> types.Diagnostic:
    serious = finding.severity is Severity.ERROR
    url = rule_url(finding.code)
    return types.Diagnostic(
        where,
        said(finding),
        severity=types.DiagnosticSeverity.Error if serious else types.DiagnosticSeverity.Warning,
        code=finding.code,
        code_description=types.CodeDescription(url) if url else None,
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if finding.code == UNUSED else None,
        related_information=led or None,
    )


def _led(
    finding: Finding, file: Opened, texts: Mapping[str, str], root: str, codec: PositionCodec
) -> Iterator[types.DiagnosticRelatedInformation]:
    """The earlier events that make it a mistake, here and in other files."""
    for event in finding.witness:
        if event.filename is None:
            part = file.part(event.place.cell)
            uri, lines = (part.uri, part.lines) if part is not None else ("", [])
        else:
            uri = from_fs_path(os.path.join(root, event.filename)) or ""
            lines = lines_of(texts.get(event.filename, ""))
        if uri:
            where = types.Location(uri, range_of(event.place, lines, codec))
            yield types.DiagnosticRelatedInformation(where, event.what)
