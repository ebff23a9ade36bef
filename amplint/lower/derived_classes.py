"""The classes that derive from a class of a module, there and in the files of the project that import it.

What a class leaves to a framework, one that derives from it may do itself. A class of which objects are made runs as it
is, whatever derives from it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from amplint.flow import program as ir
from amplint.lower.names import last
from amplint.lower.statements import Statements
from amplint.source.definitions import outline
from amplint.source.importing import importers
from amplint.source.parse import parse
from amplint.source.reading import Unparsable, Unreadable
from amplint.source.scout import check_brackets

MOST_FILES = 8
"""Files that are asked for the heirs of a class."""


def derived_classes(path: str, nodes: Sequence[object], klass: ir.Class) -> tuple[ir.Class, ...]:
    """The classes that derive from one, from the nearest on; none where objects of the class itself are made."""
    if any(isinstance(node, ir.Call) and last(node.func) == klass.name for node in nodes):
        return ()
    here = list(_deriving((node for node in nodes if isinstance(node, ir.Class)), {klass.name}))
    elsewhere = _elsewhere(path, {klass.name, *(one.name for one in here)}, klass.name)
    return () if elsewhere is None else (*here, *elsewhere)


def _deriving(classes: Iterable[ir.Class], names: set[str]) -> Iterator[ir.Class]:
    """Those classes that derive from one of some names, in the order of the text; the names grow with them."""
    for klass in classes:
        if not names.isdisjoint(map(last, klass.bases)):
            names.add(klass.name)
            yield klass


def _elsewhere(path: str, names: set[str], name: str) -> list[ir.Class] | None:
    """The heirs in other files, which may have heirs in others again; None where one makes objects of the class."""
    found: list[ir.Class] = []
    waiting, asked = [path], {path}
    while waiting and len(asked) <= MOST_FILES:
        for file in importers(waiting.pop()):
            if file not in asked and (text := _text(file)):
                asked.add(file)
                if re.search(rf"(?<!class )\b{name}\(", text):
                    return None
                new = list(_deriving(_classes(file, names), names))
                found += new
                waiting += [file] if new else []
    return found


def _text(file: str) -> str:
    """What stands in a file, empty for what is no Python."""
    known = outline(file)
    return "".join(known.lines) if known is not None else ""


def _classes(file: str, names: set[str]) -> Iterator[ir.Class]:
    """The classes of a file, the names that it gives to those of other files among their bases' put back."""
    known = outline(file)
    units = [unit for every in known.names.values() for unit in every] if known is not None else []
    given = {
        alias.asname: alias.name
        for unit in units
        if isinstance(unit, ast.ImportFrom)
        for alias in unit.names
        if alias.asname
    }
    names |= {new for new, old in given.items() if old in names}
    for unit in units:
        if known is not None and isinstance(unit, ast.ClassDef):
            yield from _lowered(known.text(unit))


def _lowered(text: str) -> Iterator[ir.Class]:
    """The class that a text defines, nothing if it cannot be read."""
    try:
        check_brackets(text)
        body = Statements(parse(text)).module()
    except (Unparsable, Unreadable):
        return
    yield from (node for node in body if isinstance(node, ir.Class))
