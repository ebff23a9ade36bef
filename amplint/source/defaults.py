"""Which settings a file gives 1 by default: options of a command line, parameters, fields, keys of a mapping, and what
`get` falls back to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from amplint.source.reading import Unreadable
from amplint.source.trees import every_node, tree_of

_ONE = re.compile(r"[=,:]\s*1\s*[,)}\r\n#]")
_FALLS_BACK = frozenset({"get", "getattr", "pop", "setdefault"})


def ones(text: str) -> frozenset[str]:
    """The names of the settings, as an attribute spells them; none of a text that cannot be parsed."""
    if _ONE.search(text) is None:
        return frozenset()
    try:
        tree = tree_of(text)
    except Unreadable:
        return frozenset()
    return frozenset(name for node in every_node(tree) for name in _of(node)) if tree is not None else frozenset()


def _of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.arguments):
        plain = [*node.posonlyargs, *node.args]
        optional = zip(plain[len(plain) - len(node.defaults) :], node.defaults, strict=True)
        named = zip(node.kwonlyargs, node.kw_defaults, strict=True)
        yield from (one.arg for one, value in (*optional, *named) if _is_one(value))
    elif isinstance(node, ast.ClassDef):
        fields = ((one.target, one.value) for one in node.body if isinstance(one, ast.AnnAssign))
        yield from (one.id for one, value in fields if isinstance(one, ast.Name) and _is_one(_default(value)))
    elif isinstance(node, ast.Dict):
        keys = [key for key, value in zip(node.keys, node.values, strict=True) if _is_one(value)]
        yield from (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
    elif isinstance(node, ast.Call):
        yield from _of_a_call(node)


def _of_a_call(node: ast.Call) -> Iterator[str]:
    """The option that a call declares with a default of 1, or the key that it reads with one."""
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    said = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    if any(one.arg == "default" and _is_one(one.value) for one in node.keywords):
        options = [one.lstrip("-") for one in said if one.startswith("--")] or [one.lstrip("-") for one in said[:1]]
        yield from (one.replace("-", "_") for one in options)
    elif called in _FALLS_BACK and said and _is_one(node.args[-1]):
        yield said[0]


def _default(value: ast.expr | None) -> ast.expr | None:
    """The default of a field: what it is set to, or what a call such as `field(default=1)` says."""
    named = [one.value for one in value.keywords if one.arg == "default"] if isinstance(value, ast.Call) else []
    return named[0] if named else value


def _is_one(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and type(value.value) is int and value.value == 1
