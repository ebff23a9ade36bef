"""Callers in other files: what a function does wrong by itself is no mistake where all who call it do it right.

A file is judged by itself, and what its functions are handed is not known there. Where another file of the project
calls them, its runs execute them with what it hands over: they are the evidence, as those of a caller in the same file
are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from amplint.flow import program as ir
from amplint.flow.breaches import Breach
from amplint.flow.loop_places import extent, functions_in
from amplint.protocol.events import Site
from amplint.source.defaults import ones
from amplint.source.definitions import outline, text_of
from amplint.source.importing import importers

MOST_CALLERS = 4
"""Files that are asked about one."""


class Witnessed(NamedTuple):
    """What the runs of a caller show of another file: which of its functions they execute (where each stands, and
    whether it is executed), and the rules that are broken there, each with whether that is no more than a warning."""

    functions: tuple[tuple[ir.Span, bool], ...]
    broken: Mapping[tuple[str, Site], bool]

    def executes(self, site: Site) -> bool:
        """Whether the innermost function around a place was executed."""
        around = [one for one in self.functions if one[0][:2] <= (site.row, site.column) and site.row <= one[0][2]]
        return bool(around) and max(around)[1]


def witnessed(body: Sequence[ir.Stmt], executed: Set[int], broken: Sequence[Breach]) -> Witnessed:
    """What runs show that executed these functions, of a file in which a caller sees these statements."""
    functions = tuple((extent(one), id(one) in executed) for one in functions_in(tuple(body)))
    return Witnessed(functions, {breach.key: breach.mild for breach in broken})


Key = tuple[str, Site]
"""What makes two breaches the same finding."""


def upheld(
    breaches: Sequence[Breach], filename: str, reader: Callable[[str, Set[Key]], Witnessed | None]
) -> Iterator[Breach]:
    """The breaches that callers of a file in other files do not refute; where all of these only warn, so is it told.
    What the file itself calls wrongly, those who do not come through that call cannot refute. Nor can anybody refute
    what somebody else calls in a way that nobody sees; and tests call with settings of their own.

    What one of them shows as a mistake is settled: `reader` is told of the others, and none is asked when all are.
    """
    here = {breach.key for breach in breaches if breach.site.path == filename}
    callers = [one for one in importers(filename) if not _is_test(one, filename)] if here else []
    unsettled, seen, unread = set(here), list[Witnessed](), callers[MOST_CALLERS:]
    for caller in callers[:MOST_CALLERS]:
        if not unsettled:
            break
        if (found := reader(caller, unsettled)) is None:
            unread.append(caller)
        else:
            seen.append(found)
            unsettled -= {key for key, mild in found.broken.items() if not mild and found.executes(key[1])}
    for breach in breaches:
        through = [breach.site, *(site for site in breach.calls if site.path == filename)]
        calling = [one.broken.get(breach.key) for one in seen if breach.key in here and all(map(one.executes, through))]
        told = [mild for mild in calling if mild is not None]
        if told or not calling or any(_is_called(filename, breach.site, one) for one in unread):
            yield replace(breach, mild=breach.mild or (bool(told) and all(told)))


def _is_test(path: str, tested: str) -> bool:
    """Whether a file is one of tests of another, by the names that pytest looks for, or by a folder of its own."""
    here, there = os.path.abspath(path), os.path.abspath(tested)
    *folders, name = os.path.relpath(here, os.path.commonpath((here, there))).split(os.sep)
    stem = os.path.splitext(name)[0]
    return stem.startswith("test_") or stem.endswith("_test") or not _TESTS.isdisjoint(folders)


_TESTS = frozenset({"test", "tests", "testing"})


def _is_called(filename: str, site: Site, caller: str) -> bool:
    """Whether a file calls what stands around a place in another one, by its name."""
    found, text = outline(filename), text_of(caller)
    names = found.names.items() if found is not None else ()
    around = {name for name, units in names for one in units if one.lineno <= site.row <= (one.end_lineno or 0)}
    return text is not None and any(re.search(rf"(?<![\w.]){re.escape(name)}\(", text) for name in around)


def ones_around(text: str, filename: str) -> Set[str]:
    """The settings with a default of 1 in a file, and in those that import it, unless one of these names a setting and
    gives it another default, or none."""
    callers = [told for told in map(text_of, importers(filename)[:MOST_CALLERS]) if told is not None]
    found = [(ones(told), told) for told in callers]
    every = frozenset[str]().union(*(names for names, _ in found))
    return ones(text) | {name for name in every if all(name in names or name not in told for names, told in found)}
