"""Places as an editor counts them: from 0, in code units of UTF-16 unless it asks for others."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types
from pygls.workspace import PositionCodec

from amplint.findings import Edit, Place


def range_of(place: Place, lines: Sequence[str], codec: PositionCodec) -> types.Range:
    """A span of a text as the editor counts it."""
    return types.Range(
        _position(place.row, place.column, lines, codec), _position(place.end_row, place.end_column, lines, codec)
    )


def _position(row: int, column: int, lines: Sequence[str], codec: PositionCodec) -> types.Position:
    line = lines[row - 1] if row <= len(lines) else ""
    return types.Position(row - 1, codec.client_num_units(line[: column - 1]))


def edits_of(edits: Sequence[Edit], lines: Sequence[str], codec: PositionCodec) -> list[types.TextEdit]:
    """Edits of a text as the editor makes them."""
    return [types.TextEdit(range_of(edit.place, lines, codec), edit.content) for edit in edits]


def touches(one: types.Range, other: types.Range) -> bool:
    """Whether two spans have a position in common, the ends of both counted."""
    return _key(one.start) <= _key(other.end) and _key(other.start) <= _key(one.end)


def _key(position: types.Position) -> tuple[int, int]:
    return position.line, position.character
