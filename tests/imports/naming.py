"""Where code names a library: in a string, or in a name. Docstrings and comments may, and cite."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

from amplint.dialects import DIALECTS
from amplint.dialects.dialect import Dialect
from tests.imports.arrows import modules

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAMED = (
    "makes",
    "calls",
    "losses",
    "transparent",
    "wrappers",
    "autocasts",
    "defines",
    "trainers",
    "loops",
    "primitives",
)
_ENGLISH = frozenset({"attr"})  # it is what a node is called that reads an attribute


def libraries(dialects: Iterable[Dialect] = DIALECTS) -> frozenset[str]:
    """The packages of which the dialects know anything, Python's own aside, as they are spelled in names."""
    roots = {name for dialect in dialects for name in dialect.governs}
    for dialect in dialects:
        for part in fields(dialect):
            if part.name in _NAMED:
                roots |= {name.partition(".")[0] for name in getattr(dialect, part.name)}
    return frozenset(root.lower() for root in roots - sys.stdlib_module_names) - _ENGLISH


def named(root: Path, room: str, known: frozenset[str]) -> list[str]:
    """The places at which a room names a library."""
    return [
        f"{name}:{row} says {text!r}"
        for name, path in modules(root, room).items()
        for row, text in _texts(ast.parse(path.read_text(encoding="utf-8")))
        if not known.isdisjoint(_words(text))
    ]


def _words(text: str) -> set[str]:
    """The words of a text, and the names in it that are written of several."""
    return {one.lower() for one in (*_WORDS.findall(text), *re.findall(r"\w+", text))}


def _texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each string and each name in a module, docstrings aside."""
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        row = getattr(node, "lineno", 0)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield row, node.value
        for part in ("id", "attr", "name", "arg", "asname", "module"):
            text = getattr(node, part, None)
            if isinstance(text, str):
                yield row, text
