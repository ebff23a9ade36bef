"""Classes whose methods keep what they are handed: meters and histories, which may be given a loss with its graph."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Sequence

_HANDED = re.compile(r"\.(\w+)\((?:[^()]*[,=])?\s*(?:\w+\.)*\w*loss\w*\s*[,)]", re.IGNORECASE)
_GROWS = re.compile(r"\bself\.\w+(?:\.\w+|\[[^\]\n]*\])*(?: *\+= |\.(?:add|append|extend|insert)\()")
_MAX_ROWS = 150
"""Rows of a class that is kept whole."""


def handed(text: str) -> frozenset[str]:
    """The methods that are handed what is called a loss, as it is, in a text."""
    return frozenset(_HANDED.findall(text)) if "loss" in text.lower() else frozenset()


def keeps(unit: ast.ClassDef, lines: Sequence[str], names: Collection[str]) -> bool:
    """Whether a class has a method of one of some names by which its objects grow."""
    if not names or (unit.end_lineno or 0) - unit.lineno > _MAX_ROWS:
        return False
    methods = (one for one in unit.body if isinstance(one, ast.FunctionDef) and one.name in names)
    return any(_GROWS.search("".join(lines[one.lineno : one.end_lineno])) for one in methods)


def keepers(nodes: Iterable[ast.AST], lines: Sequence[str], names: Collection[str]) -> set[int]:
    """The methods, by identity, of the classes that keep what a method of one of some names is handed."""
    found = (one for one in nodes if names and isinstance(one, ast.ClassDef) and keeps(one, lines, names))
    return {id(method) for unit in found for method in unit.body}
