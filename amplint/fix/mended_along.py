"""The findings that a fix of another one mends along with it: one `unscale_` serves every clip behind it."""

from __future__ import annotations

from collections.abc import Sequence

from amplint.findings import Edit, Finding


def mended_along(
    finding: Finding, told: Sequence[Finding], edits: Sequence[Edit], left: Sequence[Finding]
) -> list[Finding]:
    """Those that are told of the same rule and are gone after the edits that mend a finding; `left`: what is told then.

    None where it cannot be told which are gone.
    """
    alike = [one for one in told if one.code == finding.code]
    there = {one.place.row for one in left if one.code == finding.code}
    gone = [one for one in alike if one is finding or _row_after(one, edits) not in there]
    count = sum(one.code == finding.code for one in left)
    return [one for one in gone if one is not finding] if len(alike) - count == len(gone) else []


def _row_after(finding: Finding, edits: Sequence[Edit]) -> int:
    """The row of a finding after edits above it."""
    place, row = finding.place, finding.place.row
    for edit in edits:
        if (edit.place.end_row, edit.place.end_column) <= (place.row, place.column):
            row += edit.content.count("\n") - (edit.place.end_row - edit.place.row)
    return row
