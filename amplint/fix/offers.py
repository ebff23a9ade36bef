"""The fixes that the findings of a file are told with: what is offered as proved can be made, all of it.

A fix that mends several findings is that of each. Fixes that are right by themselves may not be right together: where
the file with all of them is not as good as each promises, they are made one after the other, as `--fix` does it, and
what is left over is only shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from amplint.catalogue.rule import Rule
from amplint.findings import Edit, Finding
from amplint.fix.documents import Unwritable, edited
from amplint.fix.importers import counted
from amplint.fix.mended_along import mended_along
from amplint.fix.proof import DISPLAY, Document, Proved, Prover, Reader, Visible, fixed
from amplint.source.reading import Unparsable, Unreadable

_MADE_AT_ONCE: Sequence[Collection[str]] = (("safe",), ("safe", "unsafe"))
"""What may be asked to be made: without the fixes that change the numbers of a run, and with them."""


def with_fixes(document: Document, visible: Visible, reader: Reader, rules: Mapping[str, Rule]) -> Iterator[Finding]:
    """The findings that are told, each with its fix, if it has one. Raises Broken."""
    told = visible(document.script, document.findings)
    found = _found(document, told, reader, rules)
    for safeties in _MADE_AT_ONCE:
        offered = [one for one in told if (proved := found.get(id(one))) and proved.fix.applicability in safeties]
        edits = dict.fromkeys(found[id(one)].fix.edits for one in offered)
        if len(edits) > 1 and not _is_mended(document, offered, list(edits), reader):
            end, _ = fixed(document, visible, reader, rules, safeties.__contains__)
            for one in _left(document, offered, end, visible):
                found[id(one)] = replace(found[id(one)], fix=replace(found[id(one)].fix, applicability=DISPLAY))
    for one in told:
        yield replace(one, fix=found[id(one)].fix) if id(one) in found else one


def _found(document: Document, told: Sequence[Finding], reader: Reader, rules: Mapping[str, Rule]) -> dict[int, Proved]:
    """The fix of each finding that has one; one that mends several is asked for once."""
    prover, found = Prover(document, reader, rules), dict[int, Proved]()
    for one in told:
        proved = None if id(one) in found else prover.fix(one)
        if proved is None:
            continue
        found[id(one)] = proved
        if proved.after is not None:
            along = mended_along(one, told, proved.fix.edits, proved.after.findings)
            found |= {id(other): proved for other in along if id(other) not in found or found[id(other)].after is None}
    return found


def _is_mended(document: Document, offered: Sequence[Finding], edits: Sequence[Sequence[Edit]], reader: Reader) -> bool:
    """Whether a file with several fixes in it is without all that they mend, and nothing is told of it besides."""
    try:
        placed = [replace(edit, place=document.script.place(edit.place)) for one in edits for edit in one]
        after = reader.read(edited(document.data, document.filename, placed), document.filename)
    except (Unwritable, Unreadable, Unparsable):
        return False
    had, has = counted(document.findings), counted(after.findings)
    mends = Counter((one.code, False) for one in offered)
    return all(count <= had[key] - mends[key] for key, count in has.items())


def _left(document: Document, offered: Sequence[Finding], end: Document, visible: Visible) -> list[Finding]:
    """Those of some findings that are still told at the end; of several that are alike, the last ones."""
    told = Counter(_line(end, one) for one in visible(end.script, end.findings))
    left: list[Finding] = []
    for one in reversed(offered):
        if told[_line(document, one)] > 0:
            told[_line(document, one)] -= 1
            left.append(one)
    return left


def _line(document: Document, finding: Finding) -> tuple[str, str]:
    lines, row = document.script.text.splitlines(), finding.place.row
    return finding.code, lines[row - 1].strip() if row <= len(lines) else ""
