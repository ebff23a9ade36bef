"""Running totals, and lists, that keep the graphs of losses which were back-propagated long ago.

A token is left in the metadata of the nodes that a backward began at; it lives as long as they do. When many of them
are alive, somebody keeps them: then the user's variables are looked at, once in a while, for the sum or the list that
does, and the source for the statement that adds to it. Nothing is kept alive, and no value is read.
"""

from __future__ import annotations

import ast
import linecache
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from torch import Tensor

from amplint.protocol.events import Site
from runtime_guard.late_division import variables
from runtime_guard.scaled import metadata_of

_MARK = "runtime_guard.alive"
_FIRST_LOOK = 4
_NODES = 512
_ATTRIBUTES = 200
_LONG = 64
"""So many of the last entries of a list are looked at."""
_Grown = ast.AugAssign | ast.Assign | ast.Expr
_FACTORS = frozenset({"MulBackward0", "DivBackward0", "NegBackward0", "AddBackward0", "ToCopyBackward0"})
_DICTS = (dict, OrderedDict, defaultdict)
_LISTS = (list, deque)
_PARTS = 12
"""So many operations between a loss and what is back-propagated are gone through."""


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
        self._bury()
        return len(self._alive) + 1 >= self._look

    def passed(self, roots: Iterable[Tensor]) -> bool:
        """Takes note of a backward. Returns whether so many graphs are alive that it is time to look for who keeps
        them: four, as in a short epoch, and then each time that they have doubled."""
        token = _Token()
        for root in roots:
            if root.grad_fn is not None:
                _mark(root.grad_fn, token)
        self._alive.append(weakref.ref(token))
        self._bury()
        if len(self._alive) < self._look:
            return False
        self._look = 2 * len(self._alive)
        return True

    def _bury(self) -> None:
        """Forgets graphs that are gone: at once while there are few, else when it may be time to look."""
        if _FIRST_LOOK < len(self._alive) < self._look - 1:
            return
        self._alive = [token for token in self._alive if token() is not None]


def _mark(root: Any, token: _Token) -> None:
    """Leaves a token with what was back-propagated, and with the losses that it was made of."""
    waiting = [root]
    for _ in range(_PARTS):
        if not waiting:
            return
        node = waiting.pop()
        metadata_of(node).setdefault(_MARK, token)
        if node.name() in _FACTORS or node is root:
            waiting += [inner for inner, _ in node.next_functions if inner is not None]


@dataclass(frozen=True)
class _Holder:
    """What holds losses: a variable, or an attribute as `self.name`; of a dict, under which key.

    `variable`, `owner`: of an attribute, the variable that is its object, and the name of its class.
    """

    name: str
    key: Hashable = None
    variable: str = ""
    owner: str = ""


def kept_in(frames: Sequence[FrameType]) -> Iterator[Kept]:
    """The totals among the variables of some frames."""
    asked: set[int] = set()
    for frame in frames:
        for name, value in variables(frame).items():
            for key, held in _many(value):
                yield from _kept(frame.f_code.co_filename, _grown(frame, _Holder(name, key)), held)
            if id(value) not in asked and (attributes := _attributes(value)):
                asked.add(id(value))
                for attribute, inner in attributes.items():
                    for key, held in _many(inner):
                        holder = _Holder(f"self.{attribute}", key, name, type(value).__name__)
                        path, tree, place = _grown_by_methods(type(value), holder)
                        handed = _handed(frame, tree, place, holder, held)
                        yield from [handed] if handed is not None else _kept(path, place, held)


def _kept(path: str, place: tuple[_Grown, bool] | None, held: int) -> Iterator[Kept]:
    if place is not None:
        node, bounded = place
        columns = node.col_offset + 1, node.end_lineno or 0, (node.end_col_offset or 0) + 1
        yield Kept(_shown(node), Site(path, node.lineno, *columns), held, bounded)


def _handed(
    frame: FrameType, tree: ast.Module, place: tuple[_Grown, bool] | None, holder: _Holder, held: int
) -> Kept | None:
    """What an object keeps of what one of its methods is handed: told where a frame calls that method of the object,
    which may be handed numbers elsewhere. None where the method keeps what it computes itself, or is not called there.
    """
    if place is None:
        return None
    methods = [one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)]
    grows = next((one for one in methods if place[0] in ast.walk(one)), None)
    added = place[0].value.args[-1] if isinstance(place[0].value, ast.Call) else place[0].value
    if grows is None or not _parameters(grows) & {one.id for one in ast.walk(added) if isinstance(one, ast.Name)}:
        return None
    made = [one for child in _body(frame) for one in ast.walk(child) if isinstance(one, ast.Call)]
    calls = [
        (one.func.attr, one)
        for one in made
        if isinstance(one.func, ast.Attribute) and _is(one.func.value, holder.variable)
    ]
    call = next((one for name, one in calls if name == grows.name), None)
    if call is None:
        return None
    columns = call.col_offset + 1, call.end_lineno or 0, (call.end_col_offset or 0) + 1
    emptying = {one.name for one in methods if any(_sets_anew(inner, holder) for inner in ast.walk(one))}
    shown = ".".join((holder.owner, *_shown(place[0]).split(".")[1:]))
    emptied = not emptying.isdisjoint(name for name, _ in calls)
    return Kept(shown, Site(frame.f_code.co_filename, call.lineno, *columns), held, emptied)


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _parameters(method: ast.FunctionDef) -> set[str]:
    """What a method is handed, but for the object itself."""
    given = method.args
    return {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)[1:]}


def _many(value: Any) -> Iterator[tuple[Hashable, int]]:
    """How many losses that were back-propagated are in a sum or a list, or in one of a dict under which key; those that
    are but a few are left out."""
    for key, one in list(value.items()) if type(value) in _DICTS else [(None, value)]:
        if isinstance(one, deque) and one.maxlen is not None:
            continue  # it lets go of the first ones by itself
        held = _listed(list(one)) if type(one) in _LISTS else max(map(_held, _tensors(one)), default=0)
        if held > 2:
            yield key, held


def _attributes(value: Any) -> dict[str, Any]:
    """What an object of a class of the user's holds; nothing for one that holds very much."""
    owner = type(value).__module__.partition(".")[0]
    held = getattr(value, "__dict__", None) if owner not in ("builtins", "torch", "numpy") else None
    return dict(held) if type(held) is dict and len(held) <= _ATTRIBUTES else {}


def _shown(node: _Grown) -> str:
    """How what grows is called."""
    if isinstance(node, ast.Expr):
        return ast.unparse(node.value.func.value)  # type: ignore[attr-defined]
    return ast.unparse(node.target if isinstance(node, ast.AugAssign) else node.targets[0])


def _tensors(value: Any) -> list[Tensor]:
    """A single number with a graph, or those in a dict, tuple or list that a list holds."""
    values = value.values() if type(value) in _DICTS else value if type(value) in (tuple, list) else (value,)
    return [item for item in values if type(item) is Tensor and item.grad_fn is not None and item.numel() == 1]


def _listed(values: list[Any]) -> int:
    """How many losses that were back-propagated are in a list, one each."""
    return sum(map(bool, map(_held, [one for value in values[-_LONG:] for one in _tensors(value)])))


def _held(total: Tensor) -> int:
    """How many losses that were back-propagated are in a sum, each perhaps times a number."""
    waiting, found, seen = [total.grad_fn], set(), 0
    while waiting and seen < _NODES:
        node: Any = waiting.pop()
        seen += 1
        token = metadata_of(node).get(_MARK)
        if token is not None:
            found.add(id(token))
        elif node.name() in _FACTORS:
            waiting += [inner for inner, _ in node.next_functions if inner is not None]
    return len(found)


def _grown(frame: FrameType, holder: _Holder) -> tuple[_Grown, bool] | None:
    """The statement in a frame's source that adds to a variable, and whether its innermost loop sets that anew."""
    return _grown_in(_body(frame), holder, ())


def _body(frame: FrameType) -> list[ast.stmt]:
    """The statements of a frame's code; none where its source is not there."""
    tree, first = _tree(frame.f_code.co_filename), frame.f_code.co_firstlineno
    if tree is None or frame.f_code.co_name == "<module>":
        return tree.body if tree is not None else []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]
            if min(lines) == first:
                return node.body
    return []


def _tree(path: str) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError, RecursionError):
        return None


def _grown_by_methods(owner: type, holder: _Holder) -> tuple[str, ast.Module, tuple[_Grown, bool] | None]:
    """The file, its code and the statement in which a class adds to an attribute, and whether one of its methods sets
    that anew."""
    for one in owner.__mro__:
        for method in vars(one).values():
            path = str(getattr(getattr(method, "__code__", None), "co_filename", ""))
            tree = _tree(path) if path else None
            for node in ast.walk(tree) if tree is not None else ():
                if tree is not None and isinstance(node, _Grown) and _adds_to(node, holder):
                    return path, tree, (node, _set_anew_by(tree, holder))
            if tree is not None:
                break
    return "", ast.Module([], []), None


def _set_anew_by(tree: ast.AST | None, holder: _Holder) -> bool:
    """Whether a method that does not make the object sets its attribute anew."""
    methods = [node for node in ast.walk(tree or ast.Module([], [])) if isinstance(node, ast.FunctionDef)]
    late = [method for method in methods if method.name != "__init__"]
    return any(_sets_anew(node, holder) for method in late for node in ast.walk(method))


def _grown_in(body: Iterable[ast.stmt], holder: _Holder, loop: Sequence[ast.stmt]) -> tuple[_Grown, bool] | None:
    for node in body:
        if isinstance(node, _Grown) and _adds_to(node, holder):
            return node, any(_sets_anew(other, holder) for statement in loop for other in ast.walk(statement))
        inner = node.body if isinstance(node, ast.For | ast.While) else loop
        for block in ("body", "orelse", "finalbody"):
            found = _grown_in(getattr(node, block, ()), holder, inner)
            if found is not None:
                return found
    return None


def _called(node: ast.expr, holder: _Holder) -> bool:
    """Whether an expression is a holder, or an item of it that may be the one under its key."""
    key: ast.expr | None = None
    while isinstance(node, ast.Subscript):
        key = node.slice
        node = node.value
    if holder.key is not None and isinstance(key, ast.Constant) and key.value != holder.key:
        return False
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}" == holder.name
    return isinstance(node, ast.Name) and node.id == holder.name


def _adds_to(node: _Grown, holder: _Holder) -> bool:
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.Add) and _called(node.target, holder)
    if isinstance(node, ast.Expr):
        call = node.value.func if isinstance(node.value, ast.Call) else None
        return isinstance(call, ast.Attribute) and call.attr == "append" and _called(call.value, holder)
    value = node.value
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add) or not _called(node.targets[0], holder):
        return False
    return _called(value.left, holder) or _called(value.right, holder)


def _sets_anew(node: ast.AST, holder: _Holder) -> bool:
    if isinstance(node, ast.Call):
        cleared = isinstance(node.func, ast.Attribute) and node.func.attr == "clear"
        return cleared and _called(node.func.value, holder)  # type: ignore[attr-defined]
    targets = node.targets if isinstance(node, ast.Assign) else ()
    every = [one for target in targets for one in (target.elts if isinstance(target, ast.Tuple) else [target])]
    if not isinstance(node, ast.Assign) or not any(_called(target, holder) for target in every):
        return False
    return not any(isinstance(part, ast.expr) and _called(part, holder) for part in ast.walk(node.value))
