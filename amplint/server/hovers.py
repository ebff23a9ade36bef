"""What is shown where the pointer rests, and what stands beside the code if that is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types
from pygls.workspace import PositionCodec

from amplint.catalogue.pages import page
from amplint.findings import Place, TrainingLoop
from amplint.report.json_list import said
from amplint.report.links import rule_url
from amplint.report.loops import text
from amplint.selection import known_rules
from amplint.server.documents import Opened
from amplint.server.positions import range_of, touches
from amplint.server.questions import Told


def hover_on_findings(
    told: Iterable[Told], file: Opened, uri: str, at: types.Position, codec: PositionCodec
) -> types.Hover | None:
    """The findings at a position, each with the page of its rule."""
    here = types.Range(at, at)
    cell = file.cell_of(uri)
    shown: dict[str, list[str]] = {}
    where: types.Range | None = None
    for one in told:
        part = file.part(one.finding.place.cell)
        place = range_of(one.finding.place, part.lines, codec) if part is not None else None
        if place is not None and one.finding.place.cell == cell and touches(place, here):
            where = where or place
            shown.setdefault(one.finding.code, []).append(said(one.finding))
    if not shown:
        return None
    pages = "\n\n---\n\n".join(_page(code, messages) for code, messages in shown.items())
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, pages), where)


def _page(code: str, messages: list[str]) -> str:
    url = rule_url(code)
    link = f"\n\n[{url}]({url})\n" if url else ""
    return "\n\n".join([*messages, page(known_rules()[code], "markdown")]) + link


def hover_on_loops(
    loops: Iterable[TrainingLoop], file: Opened, uri: str, at: types.Position, codec: PositionCodec
) -> types.Hover | None:
    """The drawing of the training loop of which the first line is at a position."""
    for loop in loops:
        part = file.part(loop.place.cell)
        if part is not None and part.uri == uri and loop.place.row == at.line + 1:
            head = Place(loop.place.row, loop.place.column, loop.place.row, len(part.lines[at.line]) + 1)
            drawing = types.MarkupContent(types.MarkupKind.Markdown, f"```text\n{text([loop])}```\n")
            return types.Hover(drawing, range_of(head, part.lines, codec))
    return None


def hints(
    loops: Iterable[TrainingLoop], file: Opened, uri: str, visible: types.Range, codec: PositionCodec
) -> Iterator[types.InlayHint]:
    """What stands at the ends of the backward and the step of each loop: the window, the weight of a loss in it."""
    for loop in loops:
        for place, what in loop.marks:
            part = file.part(place.cell)
            if part is None or part.uri != uri:
                continue
            where = range_of(place, part.lines, codec)
            if touches(where, visible):
                yield types.InlayHint(where.end, what, padding_left=True)
