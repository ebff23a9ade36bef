"""Running totals that keep the graphs of losses which were back-propagated long ago.

A token is left in the metadata of the nodes that a backward began at; it lives as long as they do. When many of them
are alive, somebody keeps them: then the user's variables are looked at, once in a while, for the sum that does, and the
source for the statement that adds to it. Nothing is kept alive, and no value is read.
"""

from __future__ import annotations

import ast
import linecache
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from torch import Tensor

from amplint.protocol.events import Site
from runtime_guard.late_division import variables
from runtime_guard.scaled import metadata_of

_MARK = "runtime_guard.alive"
_FIRST_LOOK = 8
_MANY = 5
_NODES = 512
_Grown = ast.AugAssign | ast.Assign


class _Token:
    """Lives as long as a graph."""


@dataclass(frozen=True)
class Kept:
    """A total: how it is called, where it is added to, how many losses it holds, whether its loop sets it anew."""

    name: str
    site: Site
    held: int
    bounded: bool


class Totals:
    """The graphs of the backward passes so far, as far as they are alive."""

    def __init__(self) -> None:
        self._alive: list[weakref.ref[_Token]] = []
        self._look = _FIRST_LOOK

    def crowded(self) -> bool:
        """Whether so many graphs are alive that the next backward is a time to look for who keeps them."""
        if len(self._alive) + 1 < self._look:
            return False
        self._alive = [token for token in self._alive if token() is not None]
        if len(self._alive) < _MANY:
            self._look = max(_FIRST_LOOK, 2 * len(self._alive))
            return False
        return True

    def passed(self, roots: Iterable[Tensor]) -> bool:
        """Takes note of a backward. Returns whether so many graphs are alive that it is time to look for who keeps
        them."""
        token = _Token()
        for root in roots:
            if root.grad_fn is not None:
                for node in (root.grad_fn, *(inner for inner, _ in root.grad_fn.next_functions if inner is not None)):
                    metadata_of(node).setdefault(_MARK, token)
        self._alive.append(weakref.ref(token))
        if len(self._alive) < self._look:
            return False
        self._alive = [token for token in self._alive if token() is not None]
        self._look = max(_FIRST_LOOK, 2 * len(self._alive))
        return len(self._alive) > _MANY


def kept_in(frames: Sequence[FrameType]) -> Iterator[Kept]:
    """The totals among the variables of some frames."""
    for frame in frames:
        for name, value in variables(frame).items():
            held = max(map(_held, _tensors(value)), default=0)
            place = _grown(frame, name) if held > 2 else None
            if place is not None:
                node, bounded = place
                shown = ast.unparse(node.target if isinstance(node, ast.AugAssign) else node.targets[0])
                columns = node.col_offset + 1, node.end_lineno or 0, (node.end_col_offset or 0) + 1
                yield Kept(shown, Site(frame.f_code.co_filename, node.lineno, *columns), held, bounded)


def _tensors(value: Any) -> list[Tensor]:
    """A single number, or those in a dict, or among the attributes of an object that is called `self`."""
    values = value.values() if type(value) is dict else (value,)
    return [item for item in values if type(item) is Tensor and item.grad_fn is not None and item.numel() == 1]


def _held(total: Tensor) -> int:
    """How many losses that were back-propagated are in a sum."""
    waiting, found, seen = [total.grad_fn], set(), 0
    while waiting and seen < _NODES:
        node: Any = waiting.pop()
        seen += 1
        token = metadata_of(node).get(_MARK)
        if token is not None:
            found.add(id(token))
        elif node.name() == "AddBackward0":
            waiting += [inner for inner, _ in node.next_functions if inner is not None]
    return len(found)


def _grown(frame: FrameType, name: str) -> tuple[_Grown, bool] | None:
    """The statement in a frame's source that adds to a variable, and whether its innermost loop sets that anew."""
    lines = linecache.getlines(frame.f_code.co_filename)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return None
    first = frame.f_code.co_firstlineno
    return _grown_in(tree.body, name, ()) if frame.f_code.co_name == "<module>" else _in_function(tree, first, name)


def _in_function(tree: ast.Module, first: int, name: str) -> tuple[_Grown, bool] | None:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]
            if min(lines) == first:
                return _grown_in(node.body, name, ())
    return None


def _grown_in(body: Iterable[ast.stmt], name: str, loop: Sequence[ast.stmt]) -> tuple[_Grown, bool] | None:
    for node in body:
        if isinstance(node, ast.AugAssign | ast.Assign) and _adds_to(node, name):
            return node, any(_sets_anew(other, name) for statement in loop for other in ast.walk(statement))
        inner = node.body if isinstance(node, ast.For | ast.While) else loop
        for block in ("body", "orelse", "finalbody"):
            found = _grown_in(getattr(node, block, ()), name, inner)
            if found is not None:
                return found
    return None


def _called(node: ast.expr, name: str) -> bool:
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name) and node.id == name


def _adds_to(node: _Grown, name: str) -> bool:
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.Add) and _called(node.target, name)
    value = node.value
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add) or not _called(node.targets[0], name):
        return False
    return _called(value.left, name) or _called(value.right, name)


def _sets_anew(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Assign) or not any(_called(target, name) for target in node.targets):
        return False
    return not any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node.value))
