"""Python's own syntax trees, and their nodes in the order of `ast.walk`, without what only tells of their use."""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache

from amplint.source.reading import Unreadable

_PLAIN = frozenset(
    {"ctx", "op", "ops", "id", "attr", "arg", "asname", "module", "level", "kind", "type_comment", "conversion"}
)
"""Fields that hold no node but a mark of an operator or of a use, and are not asked for by a walk."""


class _Fields(dict[type, tuple[str, ...]]):
    """The fields of a type of node that can hold nodes."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        found = () if kind is ast.Constant else tuple(name for name in kind._fields if name not in _PLAIN)
        self[kind] = found
        return found


_FIELDS = _Fields()


@lru_cache(maxsize=2)
def tree_of(text: str) -> ast.Module | None:
    """The syntax tree of a text, None if it is not the Python of this interpreter; nobody changes it. Kept by the text,
    until two others were parsed. Raises Unreadable."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    except (RecursionError, MemoryError):
        raise Unreadable("the code nests too deeply for Python's own parser") from None


def inside(node: ast.AST) -> list[ast.AST]:
    """A node and all that is inside it, level by level."""
    return _levels(node)[0]


def every_node(tree: ast.Module) -> list[ast.AST]:
    """The nodes of a module, found once."""
    return _of_module(tree)[0]


def depth(tree: ast.Module) -> int:
    """How many levels of nodes a module has, the marks of operators and uses aside."""
    return _of_module(tree)[1]


@lru_cache(maxsize=2)
def _of_module(tree: ast.Module) -> tuple[list[ast.AST], int]:
    """Kept by the tree itself, until two others were asked about."""
    return _levels(tree)


def _levels(node: ast.AST) -> tuple[list[ast.AST], int]:
    found, end, levels = [node], 1, 1
    for at, part in enumerate(found):
        if at == end:
            end, levels = len(found), levels + 1
        for name in _FIELDS[type(part)]:
            value = getattr(part, name)
            if type(value) is list:
                found += [one for one in value if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST):
                found.append(value)
    return found, levels
