"""Source text as the room `lower` hands it on."""

from __future__ import annotations

from textwrap import dedent

from amplint.flow import program as ir
from amplint.lower.facts import facts_of
from amplint.lower.names import walk
from amplint.lower.prune import program_of
from amplint.lower.statements import Statements
from amplint.protocol.facts import Fact
from amplint.source.parse import parse


def body_of(text: str) -> tuple[ir.Stmt, ...]:
    """The statements of a module."""
    return Statements(parse(dedent(text))).module()


def facts(text: str) -> list[Fact]:
    """The facts of a module."""
    return list(facts_of("train.py", body_of(text)))


def program(text: str) -> ir.Program:
    """The program of a module."""
    return program_of("train.py", body_of(text))


def rows(text: str) -> list[int]:
    """The rows of a module on which a statement stands that matters."""
    return sorted({node.at[0] for statement in program(text).body for node in walk(statement) if _is_statement(node)})


def _is_statement(node: object) -> bool:
    return isinstance(node, ir.Stmt) and not isinstance(node, (ir.Function, ir.Class, ir.Import))


def first(text: str, kind: type) -> object:
    """The first node of a kind in a program."""
    return next(node for statement in program(text).body for node in walk(statement) if isinstance(node, kind))
