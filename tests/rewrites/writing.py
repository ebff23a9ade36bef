"""A program as syntax trees that remember where each statement stood, so that findings can be compared by statement."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

BUILTINS = frozenset(dir(builtins))
Block = list[ast.stmt]
Rows = dict[int, int]
"""The row of each statement in a written text, and the row where it stood."""


@dataclass(frozen=True)
class Program:
    """A module, and the files that rewrites have put beside it (their text, by name).

    `alone`: nobody else imports the module, so that its own names may be spelled anew.
    """

    tree: ast.Module
    beside: dict[str, ast.Module] = field(default_factory=dict)
    alone: bool = True

    def copied(self) -> Program:
        """The same, to be changed in place."""
        return copy.deepcopy(self)


Rewrite = Callable[[Program], bool]
"""Changes a program in place and keeps its meaning; False where it has nothing to change or would not keep it."""


def read(text: str, alone: bool = True) -> Program:
    """The program of a text; every node remembers its row. Raises SyntaxError."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if row := getattr(node, "lineno", 0):
            node.origin = row
    return Program(tree, alone=alone)


def written(tree: ast.Module) -> tuple[str, Rows]:
    """The text of a tree, and where its statements stood before."""
    text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    rows: Rows = {}
    for old, new in zip(_statements(tree), _statements(ast.parse(text)), strict=True):
        for row in range(new.lineno, (new.body[0].lineno if hasattr(new, "body") else new.end_lineno + 1)):
            rows.setdefault(row, getattr(old, "origin", 0))
    return text, rows


def _statements(tree: ast.Module) -> list[ast.stmt]:
    """All statements in the order of the text, those of no effect left out as the writer does."""
    found: list[ast.stmt] = []
    for block in blocks(tree):
        found += block
    return found


def blocks(tree: ast.AST) -> Iterator[Block]:
    """Every list of statements, outer ones first."""
    for _, value in ast.iter_fields(tree):
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            yield value
            for one in value:
                yield from blocks(one)
        elif isinstance(value, list):
            for one in value:
                if isinstance(one, (ast.ExceptHandler, ast.match_case)):
                    yield from blocks(one)


def stood(node: ast.AST, *news: ast.AST) -> None:
    """Lets new nodes, and what is new in them, stand where a node stood."""
    for new in news:
        for part in ast.walk(new):
            if isinstance(part, ast.stmt) and not hasattr(part, "origin"):
                part.origin = getattr(node, "origin", 0)


def statements(text: str, like: ast.AST | None = None) -> Block:
    """The statements of a text; they stand where a node stood."""
    found = ast.parse(text).body
    if like is not None:
        stood(like, *found)
    return found


def expression(text: str) -> ast.expr:
    """The expression of a text."""
    return ast.parse(text, mode="eval").body


def name(text: str, store: bool = False) -> ast.Name:
    """A name that is read, or bound."""
    return ast.Name(text, ast.Store() if store else ast.Load())


def every_name(tree: ast.AST) -> set[str]:
    """All identifiers of a tree, of whatever kind."""
    found: set[str] = set()
    for node in ast.walk(tree):
        for attribute in ("id", "attr", "arg", "name", "asname"):
            value = getattr(node, attribute, None)
            if isinstance(value, str):
                found |= set(value.split("."))
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            found |= set(node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= set(node.module.split("."))
    return found


def fresh(tree: ast.AST, wanted: str) -> str:
    """The name, or with underscores behind it if the tree knows it already."""
    known = every_name(tree) | BUILTINS
    while wanted in known:
        wanted += "_"
    return wanted


def after_imports(tree: ast.Module) -> int:
    """Where statements may be put at the head of a module: behind its docstring and its first imports."""
    at = 0
    for one in tree.body:
        docstring = isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
        if not docstring and not isinstance(one, (ast.Import, ast.ImportFrom)):
            break
        at += 1
    return at
