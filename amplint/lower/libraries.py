"""What the frameworks that a module uses do to the training step: their small programs, read once in a process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

from amplint import dialects
from amplint.dialects.dialect import Dialect
from amplint.flow import program as ir
from amplint.lower.names import walk
from amplint.lower.prune import Surroundings, whole
from amplint.lower.statements import Statements
from amplint.lower.usage import Deeds
from amplint.source.parse import parse

_TORCHES = frozenset({"__init__", ".__init__", ".step", ".zero_grad", ".backward"})
"""Names that torch's objects have too: what is called so is judged by what it is called on."""
_FOLDER = Path(dialects.__file__).parent


def surroundings_of(body: tuple[ir.Stmt, ...]) -> Surroundings:
    """The libraries that a module imports, or whose objects it names."""
    told = [dialect for dialect in dialects.DIALECTS if dialect.behaviour]
    packages = {name.partition(".")[0] for name in _imported(body)}
    names = _named(body) if told else set()
    used = [dialect for dialect in told if _packages(dialect) & packages or dialect.adopts.keys() & names]
    return _together([_library(dialect.name) for dialect in used])


def _together(found: list[tuple[ir.Library, Deeds]]) -> Surroundings:
    libraries = tuple(library for library, _ in found)
    deeds = Deeds(
        *(frozenset().union(*(getattr(done, part.name) for _, done in found)) - _TORCHES for part in fields(Deeds))
    )
    nodes = [node for library in libraries for statement in library.body for node in walk(statement)]
    words = {node.name for node in nodes if isinstance(node, (ir.Function, ir.Class))}
    words |= {name.rpartition(".")[2] for library in libraries for name in library.defines}
    return Surroundings(libraries, frozenset(words), deeds)


def _packages(dialect: Dialect) -> set[str]:
    return {name.partition(".")[0] for name in dialect.defines}


def _imported(body: tuple[ir.Stmt, ...]) -> Iterator[str]:
    nodes = (node for statement in body for node in walk(statement))
    return (node.qualified for node in nodes if isinstance(node, ir.Import))


def _named(body: tuple[ir.Stmt, ...]) -> set[str]:
    nodes = (node for statement in body for node in walk(statement))
    return {node.name for node in nodes if isinstance(node, (ir.Name, ir.Attr, ir.Param))}


@cache
def _library(name: str) -> tuple[ir.Library, Deeds]:
    dialect = next(dialect for dialect in dialects.DIALECTS if dialect.name == name)
    text = (_FOLDER / dialect.behaviour).read_text(encoding="utf-8")
    body, deeds = whole(Statements(parse(text)).module())
    return ir.Library(name, body, dict(dialect.defines), dict(dialect.adopts), dict(dialect.spelling)), deeds
