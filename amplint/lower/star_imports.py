"""`from module import *`: the names that a file uses, binds nowhere, and takes from a neighbour, or from a library that
is known, in this way."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from amplint.dialects.public import is_known
from amplint.flow import program as ir
from amplint.flow.spelling import plain_names
from amplint.lower.names import walk
from amplint.source.definitions import Outline, handed_on, outline
from amplint.source.neighbours import resolved

STAR = "*"
"""The name that such an import binds in a program."""

_HOPS = 4  # from file to file

Body = tuple[ir.Stmt, ...]


def spelled_out(path: str, body: Body) -> Body:
    """A body with an import of its own for each name that a module hands over with all its others."""
    nodes = [node for statement in body for node in walk(statement)]
    stars = [node for node in nodes if isinstance(node, ir.Import) and node.name == STAR]
    if not stars:
        return body
    used = {node.name for node in nodes if isinstance(node, ir.Name)}
    bound = {name for node in nodes for name in _binds(node)}
    return (*(one for name in sorted(used - bound) for one in _import(path, stars, name)), *body)


def _binds(node: object) -> Iterator[str]:
    """The names that a node binds."""
    if isinstance(node, (ir.Import, ir.Function, ir.Class, ir.Param)):
        yield node.name
    elif (target := getattr(node, "target", None)) is not None:
        yield from plain_names(target)


def _import(path: str, stars: list[ir.Import], name: str) -> Iterator[ir.Import]:
    """The import that binds a name: the last one that hands it over."""
    every = ((star, _handed(path, star.qualified, name, _HOPS)) for star in reversed(stars))
    found = next(((star, qualified) for star, qualified in every if qualified), None)
    if found is not None:
        yield ir.Import(found[0].at, name, found[1])


def _handed(path: str, module: str, name: str, hops: int) -> str:
    """The qualified name that `from module import *` binds to a name; empty where it binds none that is known."""
    here = f"{module}{'' if module.endswith('.') else '.'}{name}"
    place = resolved(path, here) if hops else None
    if hops and place is None:
        return here if is_known(here) else ""
    found = outline(place[0]) if place is not None and place[1] == (name,) else None
    if place is None or found is None or not _hands_over(found, name):
        return ""
    if name not in found.names:
        inner = next((one for star in found.stars if (one := _handed(place[0], star, name, hops - 1))), "")
        return inner if not inner or _is_public(place[0], inner) else here
    taken = _whole_module(found, name) or handed_on(found, name)
    return taken if taken and _is_public(place[0], taken) else here


def _is_public(path: str, qualified: str) -> bool:
    """Whether a name is none of a neighbour of a file."""
    return not qualified.startswith(".") and resolved(path, qualified) is None


def _hands_over(found: Outline, name: str) -> bool:
    """Whether a file hands a name over with all its others."""
    said = [node for unit in found.names.get("__all__", ()) for node in ast.walk(unit)]
    return not name.startswith("_") and (not said or any(getattr(node, "value", "") == name for node in said))


def _whole_module(found: Outline, name: str) -> str:
    """The module that `import module` binds to a name in a file, empty if none does."""
    units = [unit for unit in found.names.get(name, ()) if isinstance(unit, ast.Import)]
    bound = {alias.asname or alias.name.partition(".")[0]: alias for unit in units for alias in unit.names}
    if name not in bound:
        return ""
    return bound[name].name if bound[name].asname else name
