"""What a finding is known by when its line has moved: its rule, its file, and the statement it stands at, as syntax.

Spaces, line breaks, quotes, parentheses and comments are not part of a statement's syntax, and the names of what the
file itself defines are left out, so that neither formatting nor renaming a function makes an old finding new.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from copy import copy

from amplint.findings import Finding, Place

Texts = Mapping[tuple[str, int | None], str]
"""The texts that findings stand in, by file and cell; the cell is None where there are none."""

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SUITES = ("body", "orelse", "finalbody", "handlers", "cases", "decorator_list")


def fingerprints(findings: Iterable[Finding], texts: Texts) -> list[str]:
    """A fingerprint for each finding, 32 hexadecimal digits. Two of one rule at the same text in a file differ."""
    trees: dict[tuple[str, int | None], ast.Module | None] = {}
    seen: Counter[str] = Counter()
    found: list[str] = []
    for finding in findings:
        source = (finding.filename, finding.place.cell)
        text = texts.get(source, "")
        if source not in trees:
            trees[source] = _tree(text)
        form = _form(trees[source], finding.place, text)
        known = _hash(finding.code, form)
        seen[f"{finding.filename}\0{known}"] += 1
        found.append(_hash(known, str(seen[f"{finding.filename}\0{known}"])))
    return found


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _tree(text: str) -> ast.Module | None:
    """The syntax of a text, with the names that it defines left out; None where it is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    own = {node.name for node in ast.walk(tree) if isinstance(node, _DEFINITIONS)}
    for node in ast.walk(tree):
        for part in ("name", "id", "attr"):
            if getattr(node, part, None) in own:
                setattr(node, part, "_")
    return tree


def _form(tree: ast.Module | None, place: Place, text: str) -> str:
    """The innermost statement at a place, without the suites that it may hold; else the words of its line."""
    lines = text.splitlines()
    line = lines[place.row - 1] if 0 < place.row <= len(lines) else ""
    position = (place.row, len(line[: place.column - 1].encode("utf-8", "surrogatepass")))
    statement = _innermost(tree, position) if tree is not None else None
    if statement is None:
        return " ".join(line.split())
    return ast.dump(_without_suites(statement))


def _innermost(tree: ast.Module, position: tuple[int, int]) -> ast.stmt | None:
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt)
        and (node.lineno, node.col_offset) <= position < (node.end_lineno or 0, node.end_col_offset or 0)
    ]
    return max(around, key=lambda node: (node.lineno, node.col_offset), default=None)


def _without_suites(statement: ast.stmt) -> ast.stmt:
    bare = copy(statement)
    for name in _SUITES:
        if hasattr(bare, name):
            setattr(bare, name, [])
    return bare
