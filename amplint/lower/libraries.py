"""What the frameworks that a module uses do to the training step: their small programs, read once in a process."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from amplint import dialects
from amplint.dialects.dialect import Dialect
from amplint.flow import program as ir
from amplint.lower.names import walk
from amplint.lower.prune import whole
from amplint.lower.statements import Statements
from amplint.source.parse import parse

_FOLDER = Path(dialects.__file__).parent


def libraries_of(body: tuple[ir.Stmt, ...]) -> tuple[ir.Library, ...]:
    """The libraries that a module imports, or whose objects it names."""
    told = [dialect for dialect in dialects.DIALECTS if dialect.behaviour]
    packages = {name.partition(".")[0] for name in _imported(body)}
    names = _named(body) if told else set()
    used = [dialect for dialect in told if _packages(dialect) & packages or dialect.adopts.keys() & names]
    return tuple(_library(dialect.name) for dialect in used)


def words_of(libraries: tuple[ir.Library, ...]) -> frozenset[str]:
    """The names of the functions, methods and classes of libraries: what is handed to them matters."""
    nodes = (node for library in libraries for statement in library.body for node in walk(statement))
    return frozenset(
        {node.name for node in nodes if isinstance(node, (ir.Function, ir.Class))}
        | {name.rpartition(".")[2] for library in libraries for name in library.defines}
    )


def _packages(dialect: Dialect) -> set[str]:
    return {name.partition(".")[0] for name in dialect.defines}


def _imported(body: tuple[ir.Stmt, ...]) -> Iterator[str]:
    nodes = (node for statement in body for node in walk(statement))
    return (node.qualified for node in nodes if isinstance(node, ir.Import))


def _named(body: tuple[ir.Stmt, ...]) -> set[str]:
    nodes = (node for statement in body for node in walk(statement))
    return {node.name for node in nodes if isinstance(node, (ir.Name, ir.Attr, ir.Param))}


@cache
def _library(name: str) -> ir.Library:
    dialect = next(dialect for dialect in dialects.DIALECTS if dialect.name == name)
    text = (_FOLDER / dialect.behaviour).read_text(encoding="utf-8")
    body = whole(Statements(parse(text)).module())
    return ir.Library(name, body, dict(dialect.defines), dict(dialect.adopts), dict(dialect.spelling))
