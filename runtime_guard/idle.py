"""Whether a variable is made and never handed on: a scheduler that has no other name cannot step."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator

from amplint.protocol.events import Site

_QUESTIONS = frozenset({"get_last_lr", "get_lr", "state_dict", "last_epoch", "base_lrs"})


def never_read(site: Site) -> bool:
    """Whether what is made at a place gets one name, which its file nowhere reads but to ask it something."""
    try:
        tree = ast.parse("".join(linecache.getlines(site.path)))
    except (SyntaxError, ValueError, RecursionError):
        return False
    nodes = list(ast.walk(tree))
    names = [_name(one.targets) for one in nodes if isinstance(one, ast.Assign) and _makes(one, site)]
    return len(names) == 1 and names[0] is not None and names[0] not in set(_read(nodes))


def _makes(one: ast.Assign, site: Site) -> bool:
    return isinstance(one.value, ast.Call) and one.lineno <= site.row <= (one.end_lineno or one.lineno)


def _name(targets: list[ast.expr]) -> str | None:
    target = targets[0] if len(targets) == 1 else None
    return target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else None


def _read(nodes: list[ast.AST]) -> Iterator[str]:
    """What is read by its name, as a variable or as an attribute, or may be: by a name in a string. What is only asked
    where it stands, as `scheduler.get_last_lr()`, is not handed on."""
    asked = {node.value for node in nodes if isinstance(node, ast.Attribute) and node.attr in _QUESTIONS}
    for node in nodes:
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and node not in asked:
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            yield node.value
        elif isinstance(node, ast.Global):
            yield from node.names
