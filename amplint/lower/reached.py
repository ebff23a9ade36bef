"""Whether others than the class that keeps an attribute get at it: from another file, or by a computed name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import walk
from amplint.source.configured import configured

Body = tuple[ir.Stmt, ...]
_OTHERS = within("hook hooks callback callbacks listener listeners observer observers")
_BY_NAME = frozenset({"getattr", "setattr", "vars", "attrgetter", "__dict__", "__getattr__", "__getattribute__"})


def reached(path: str, body: Body) -> Callable[[str], bool]:
    """Says of the name of an attribute whether others may get at what is kept under it. It reads the project when it
    is asked."""
    return partial(_is_reached, path, body)


def _is_reached(path: str, body: Body, name: str) -> bool:
    for node in (part for statement in body for part in walk(statement)):
        if isinstance(node, (ir.Name, ir.Attr)) and (node.name in _BY_NAME or _asks_others(node.name)):
            return True
        if isinstance(node, ir.Text) and name in node.text:
            return True
    return bool(configured(path, {"reached": rf"(?<!\bself)\.{name}\b"}))


def _asks_others(name: str) -> bool:
    """Whether code is called that whoever made the object has handed in: a hook, a callback."""
    return _OTHERS(name) or words.words(name)[:1] == ("on",)
