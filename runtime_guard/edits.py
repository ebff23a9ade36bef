"""What a hook makes of the gradients that it is given, read from its code.

A hook of a tensor or a module that returns None leaves them as they are, unless it edits them in place. Most hooks only
look: they print, or write a norm down. What cannot be read may change them.
"""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import inspect
import io
import os
import textwrap
from collections import deque
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from types import CodeType, FunctionType
from typing import Any

import torch

_OURS = os.path.dirname(torch.__file__) + os.sep
_HARMLESS = frozenset({"requires_grad_", "detach_", "retain_grad_"})
_IN_PLACE = frozenset({"/=", "*="})
_STORED = frozenset({"grad", "data"})
_IDLE = frozenset({"NOP", "CACHE", "POP_TOP", "RESUME", "PUSH_NULL", "COPY_FREE_VARS", "MAKE_CELL", "PRECALL"})
_SILENT = frozenset({"append", "extend", "add", "update", "write"})
_LOADS = ("LOAD_", "KW_NAMES")
_KEEPERS = (list, set, dict, deque, io.IOBase)
_DEEP = 2
"""So many functions below a hook are read as well."""
_PASSING = frozenset({"view_as", "clone", "view", "alias", "expand_as", "contiguous", "detach", "reshape"})
_FACTORS = (ast.Mult, ast.Div)


def changes(hook: Any, returns: bool = True) -> bool:
    """Whether a hook may change what it is given. `returns`: what it returns, if not None, takes its place."""
    function = _function(hook)
    if function is None:
        return not isinstance(hook, type(len))  # what is made in C changes nothing, as `list.append`
    if function.__code__.co_filename.startswith(_OURS):
        return False
    return (returns and _returns(function, _DEEP)) or _edits(function, _DEEP)


def file_of(hook: Any) -> str:
    """The file that a hook is written in; empty if it has none."""
    function = _function(hook)
    return function.__code__.co_filename if function is not None else ""


def _function(hook: Any) -> FunctionType | None:
    """The function in Python that is called."""
    while isinstance(hook, functools.partial):
        hook = hook.func
    hook = getattr(hook, "__func__", hook)
    if not isinstance(hook, FunctionType):
        owners = type(hook).__mro__
        called = next((vars(one)["__call__"] for one in owners if "__call__" in vars(one)), None)
        hook = called if isinstance(called, FunctionType) else None
    return inspect.unwrap(hook) if hook is not None else None


def _returns(function: FunctionType, deep: int) -> bool:
    """Whether something else than None, or than what was given, may be returned."""
    kept = _returned(function.__code__)
    if kept is None:
        return True
    return any(_answers(_resolved(function, name, attributes), plain, deep) for name, attributes, plain in kept)


@cache
def _returned(code: CodeType) -> tuple[tuple[str, tuple[str, ...], bool], ...] | None:
    """The names of what a code calls and returns the answer of, each with whether it hands on what it has; None if it
    returns anything else that is not None or was given to it. Known is a call that is all that a function consists of.
    """
    given = {*code.co_varnames[: code.co_argcount]} - _stored(code)
    found = [one for one in dis.get_instructions(code) if one.opname not in _IDLE]
    calls = []
    for before, one in zip([None, *found], found, strict=False):
        if one.opname == "RETURN_CONST" and one.argval is not None:
            return None
        if one.opname != "RETURN_VALUE" or before is None:
            continue
        if one.is_jump_target:  # what is returned was made in one of several places
            return None
        if before.opname.startswith("CALL") and one is found[-1]:
            if not _is_one_call(code, found):
                return None
            calls.append((*_first_name(found), all(inner.opname.startswith(_LOADS) for inner in found[:-2])))
        elif not (before.opname == "LOAD_CONST" and before.argval is None):
            if not (before.opname.startswith("LOAD_FAST") and before.argval in given):
                return None
    return tuple(calls)


def _is_one_call(code: CodeType, found: list[dis.Instruction]) -> bool:
    """Whether a code is one expression, the call of what is named first in it."""
    first = next((at for at, one in enumerate(found) if one.opname.startswith("CALL")), len(found))
    later = any(one.opname in ("LOAD_ATTR", "LOAD_METHOD") for one in found[first:])
    return not later and all(one.opname != "POP_TOP" for one in dis.get_instructions(code)) and not _stored(code)


def _first_name(found: list[dis.Instruction]) -> tuple[str, tuple[str, ...]]:
    """The name that is read first, and the attributes that follow it at once."""
    attributes = []
    for one in found[1:]:
        if one.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            break
        attributes.append(str(one.argval))
    return str(found[0].argval), tuple(attributes)


def _resolved(function: FunctionType, name: str, attributes: tuple[str, ...]) -> Any:
    """What a function calls by a name of its module's, of a function around it, or of Python's."""
    around = {cell: _content(held) for cell, held in _cells(function)}
    known = {**vars(builtins), **function.__globals__, **around}
    found = known.get(name)
    for attribute in attributes:
        found = getattr(found, "__dict__", {}).get(attribute, getattr(type(found), attribute, None))
    return found


def _answers(called: Any, plain: bool, deep: int) -> bool:
    """Whether a call may return anything but None, or what it is handed. `plain`: that is not computed for it."""
    owner = getattr(called, "__objclass__", type(getattr(called, "__self__", None)))
    if called is print or (issubclass(owner, _KEEPERS) and getattr(called, "__name__", "") in _SILENT):
        return False
    function = _function(called) if deep and plain else None
    return function is None or _returns(function, deep - 1)


def _cells(function: FunctionType) -> Iterator[tuple[str, Any]]:
    yield from zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)


def _stored(code: CodeType) -> set[str]:
    return {str(one.argval) for one in dis.get_instructions(code) if one.opname.startswith("STORE_")}


@cache
def _edits_here(code: CodeType) -> bool:
    """Whether a code may edit in place what it is given, or has."""
    if any(name.endswith("_") and not name.endswith("__") and name not in _HARMLESS for name in code.co_names):
        return True
    for one in dis.get_instructions(code):
        if one.opname == "STORE_ATTR" and one.argval in _STORED:
            return True
        if one.opname in ("INPLACE_TRUE_DIVIDE", "INPLACE_MULTIPLY"):
            return True
        if one.opname == "BINARY_OP" and one.argrepr in _IN_PLACE:
            return True
    if _stores_into_given(code):
        return True
    return any(isinstance(inner, CodeType) and _edits_here(inner) for inner in code.co_consts)


def _stores_into_given(code: CodeType) -> bool:
    """Whether elements of what a code is given are set: `gradient[:] = ...`; what is a key alone is no container."""
    given = code.co_varnames[: code.co_argcount]
    found = [one for one in dis.get_instructions(code) if one.opname not in _IDLE]
    stores = [at for at, one in enumerate(found) if one.opname in ("STORE_SUBSCR", "STORE_SLICE")]
    near = [pair for at in stores for pair in pairwise(found[max(at - 4, 0) : at])]
    return any(
        one.opname.startswith("LOAD_FAST")
        and one.argval in given
        and (not after.opname.startswith(("LOAD_ATTR", "LOAD_METHOD")) or after.argval in _STORED)
        for one, after in near
    )


def _edits(function: FunctionType, deep: int) -> bool:
    """Whether a function edits something in place, or one that it calls by a name that is its own."""
    if _edits_here(function.__code__):
        return True
    return deep > 0 and any(_edits(other, deep - 1) for other in _called(function))


def _called(function: FunctionType) -> Iterator[FunctionType]:
    """The functions of the same program that a code has names for."""
    closed = [_content(cell) for _, cell in _cells(function)]
    known = [function.__globals__.get(name) for name in function.__code__.co_names]
    holders = [
        one for one in (*closed, *known) if hasattr(one, "__dict__") and not isinstance(one, FunctionType | type)
    ]
    methods = [vars(type(one)).get(name) for one in holders for name in function.__code__.co_names]
    for one in (*closed, *known, *methods):
        if isinstance(one, FunctionType) and not one.__code__.co_filename.startswith(_OURS) and one is not function:
            yield one


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet
        return None


@cache
def only_multiplies(function: type) -> bool:
    """Whether an autograd function hands on what it takes, and multiplies or divides its gradient."""
    forward, backward = (_tree(vars(function).get(name)) for name in ("forward", "backward"))
    if forward is None or backward is None:
        return False
    returned = [node.value for node in ast.walk(forward) if isinstance(node, ast.Return)]
    given = _given(forward)
    if not returned or not all(_handed_on(value, given) for value in returned):
        return False
    return any(_multiplies(node) for node in ast.walk(backward))


def _tree(method: Any) -> ast.AST | None:
    try:
        return ast.parse(textwrap.dedent(inspect.getsource(getattr(method, "__func__", method))))
    except (OSError, TypeError, SyntaxError):
        return None


def _given(forward: ast.AST) -> set[str]:
    """The names of what a function is given, and of views and copies of it, under no name that holds something else."""
    named = {node.arg for node in ast.walk(forward) if isinstance(node, ast.arg)}
    other = set[str]()
    for node in ast.walk(forward):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            names = {inner.id for inner in ast.walk(target) if isinstance(inner, ast.Name)}
            passed = isinstance(node, ast.Assign) and isinstance(target, ast.Name) and _handed_on(node.value, named)
            named, other = (named | names, other) if passed else (named, other | names)
    return named - other


def _handed_on(value: ast.expr | None, given: set[str]) -> bool:
    """Whether an expression is one of some names, or a view or a copy of one."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _PASSING:
        value = value.func.value
    if isinstance(value, ast.BinOp) and isinstance(value.right, ast.Constant) and value.right.value in (1, 1.0):
        value = value.left
    return isinstance(value, ast.Name) and value.id in given


def _multiplies(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp | ast.AugAssign):
        return isinstance(node.op, _FACTORS)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub)
    return isinstance(node, ast.Attribute) and node.attr.rstrip("_") in ("mul", "div", "neg", "multiply", "divide")
