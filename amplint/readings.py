"""Files read as programs that can be played: scouted, parsed, lowered; kept while what they asked for stays so."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial

from amplint.dialects.dialect import Dialect
from amplint.flow import program as ir
from amplint.lower.libraries import surroundings_of
from amplint.lower.project import neighbours_of, used_by
from amplint.lower.prune import program_of
from amplint.lower.statements import Statements
from amplint.lower.written_elsewhere import as_written
from amplint.played import Played
from amplint.source.asked import Answers, heard_again, recorded, still_so
from amplint.source.ignored_targets import ignored_targets
from amplint.source.languages import script_of
from amplint.source.options import options_of
from amplint.source.parse import parse
from amplint.source.reading import Unparsable, Unreadable, read
from amplint.source.scout import MAX_DEPTH, scout

Teaching = tuple[Dialect, ...]
"""Dialects of the user's own."""

MOST_READ = 2  # texts whose runs are kept: a file, and the same one mended


@dataclass(frozen=True)
class Reading:
    """A text, lowered, played as far as was asked for, and what was asked of the file system for it."""

    body: tuple[ir.Stmt, ...]
    played: Played
    asked: Answers


def read_program(text: str, filename: str, taught: Teaching) -> Reading | None:
    """The program of a text; None if it holds no training step. The latest ones are kept. Raises Unparsable."""
    place = (text, filename, os.getcwd(), *(dialect.program for dialect in taught))
    known = _READ.get(place)
    if known is not None and still_so(known.asked):
        heard_again(known.asked)
        _READ[place] = _READ.pop(place)
        return known
    reduced = scout(text, _seeds(taught))
    if reduced is None:
        return None
    with recorded() as asked:
        body = as_written(filename, Statements(parse(reduced)).module())
        made, defaults = program(filename, text, body, taught), options_of(filename, text)
    made = replace(made, ignored=cache(partial(_heard, made.ignored, asked)))
    reading = Reading(body, Played(made, defaults=defaults), asked)
    for old in list(_READ)[: len(_READ) + 1 - MOST_READ]:
        del _READ[old]
    _READ[place] = reading
    return reading


def _heard(values: Callable[[], frozenset[str]], asked: Answers) -> frozenset[str]:
    """Values that are looked for in neighbours when they are needed; what was asked for that is written down, too."""
    with recorded() as heard:
        found = values()
    asked.update(heard)
    return found


_READ: dict[tuple[str, ...], Reading] = {}


def _seeds(taught: Teaching) -> frozenset[str]:
    return frozenset(seed for dialect in taught for seed in dialect.seeds)


_DERIVES = re.compile(r"(?m)^class \w+\(\w")


def played_file(filename: str, taught: Teaching, tail: int = 1) -> Played | None:
    """The program of another file; None where that cannot be read, or holds no training step and no class that derives
    from another: it may put a part of the step in the place of a method."""
    try:
        text = script_of(read(filename, lambda data: True) or b"", filename).text
        reduced = scout(text, _seeds(taught)) or (text if _DERIVES.search(text) else None)
        if reduced is None:
            return None
        body = as_written(filename, Statements(parse(reduced)).module())
        return Played(program(filename, text, body, taught), tail, defaults=options_of(filename, text))
    except (Unparsable, Unreadable):
        return None


def program(filename: str, text: str, body: tuple[ir.Stmt, ...], taught: Teaching = ()) -> ir.Program:
    """The program of a module, with those of the frameworks that it uses and what it takes from its neighbours."""
    taken = neighbours_of(filename, body)
    around = surroundings_of(filename, text, body, taught, used_by(taken))
    made = program_of(filename, body, around, taken)
    return replace(made, ignored=cache(partial(ignored_targets, filename, text)))


@contextmanager
def deep() -> Iterator[None]:
    """As many frames as the deepest syntax tree that the scout lets through needs."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 8 * MAX_DEPTH))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
