"""What a hook makes of the gradients that it is given, read from its code.

A hook of a tensor or a module that returns None leaves them as they are, unless it edits them in place. Most hooks only
look: they print, or write a norm down. What cannot be read may change them.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import io
import os
import textwrap
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from types import CodeType, FunctionType
from typing import Any

import torch

from runtime_guard.bytecode import Part, operand, parts

TORCHS = os.path.dirname(torch.__file__) + os.sep
"""Where torch stands."""
_HARMLESS = frozenset({"requires_grad_", "detach_", "retain_grad_"})
_IN_PLACE = frozenset({"/=", "*="})
_MULTIPLIED = frozenset({"INPLACE_TRUE_DIVIDE", "INPLACE_MULTIPLY"})
_STORED = frozenset({"grad", "data"})
_STORES = {"STORE_SUBSCR": 1, "STORE_SLICE": 2}
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
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
    if function.__code__.co_filename.startswith(TORCHS):
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
    found = [one for one in parts(code) if one.opname not in _IDLE]
    calls = []
    for before, one in zip([None, *found], found, strict=False):
        if one.opname == "RETURN_CONST" and one.argval is not None:
            return None
        if one.opname != "RETURN_VALUE" or before is None:
            continue
        if one.target:  # what is returned was made in one of several places
            return None
        if before.opname.startswith("CALL") and one is found[-1]:
            if not _is_one_call(code):
                return None
            calls.append((*_first_name(found), all(inner.opname.startswith(_LOADS) for inner in found[:-2])))
        elif not (before.opname == "LOAD_CONST" and before.argval is None):
            if not (before.opname.startswith("LOAD_FAST") and before.argval in given):
                return None
    return tuple(calls)


def _is_one_call(code: CodeType) -> bool:
    """Whether a code is one expression, the call of what is named first in it: no call before the last takes that."""
    found = parts(code)
    if any(one.opname == "POP_TOP" for one in found) or _stored(code):
        return False
    named = next(at for at, one in enumerate(found) if one.opname not in _IDLE) + 1
    while found[named].opname in _ATTRIBUTES or found[named].opname == "PUSH_NULL":
        named += 1
    left, depth = list[int](), 0
    for one in found[named:]:
        depth += one.effect
        left += [depth] if one.opname.startswith("CALL") else []
    return all(depth > 0 for depth in left[:-1])


def _first_name(found: Sequence[Part]) -> tuple[str, tuple[str, ...]]:
    """The name that is read first, and the attributes that follow it at once."""
    attributes = []
    for one in found[1:]:
        if one.opname not in _ATTRIBUTES:
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
    return {str(one.argval) for one in parts(code) if one.opname.startswith("STORE_")}


@cache
def _edits_here(code: CodeType) -> bool:
    """Whether a code may edit in place what it is given, or has."""
    if any(name.endswith("_") and not name.endswith("__") and name not in _HARMLESS for name in code.co_names):
        return True
    found = parts(code)
    if any(one.opname == "STORE_ATTR" and one.argval in _STORED for one in found):
        return True
    if any(_multiplies_in_place(one) for one in found) or _edits_tensors(code):
        return True
    return any(isinstance(inner, CodeType) and _edits_here(inner) for inner in code.co_consts)


def _multiplies_in_place(one: Part) -> bool:
    return one.opname in _MULTIPLIED or (one.opname == "BINARY_OP" and one.argrepr in _IN_PLACE)


def _edits_tensors(code: CodeType) -> bool:
    """Whether elements of what a code is given are set, or something is added to it: `gradient[:] = ...`."""
    found, tensors = parts(code), {*code.co_varnames[: code.co_argcount]}
    for at, one in enumerate(found):
        if one.opname == "STORE_FAST" and _is_tensor(operand(found, at, 0), tensors):
            tensors.add(one.argval)
    edited = [operand(found, at, _above(one)) for at, one in enumerate(found) if _above(one)]
    return any(_is_tensor(made, tensors) for made in edited)


def _above(one: Part) -> int:
    """How many values are on the stack above what an instruction edits; 0 for one that edits nothing."""
    if one.opname == "BINARY_OP" and one.argrepr.endswith("="):
        return 1
    return 1 if one.opname.startswith("INPLACE_") else _STORES.get(one.opname, 0)


def _is_tensor(made: Sequence[Part], tensors: set[str]) -> bool:
    """Whether instructions read one of some names, or a gradient, an element or a view of it, and nothing else."""
    read = [one for one in made if one.opname not in _IDLE]
    attributes = {one.argval for one in read if one.opname in _ATTRIBUTES}
    begun = bool(read) and read[0].opname.startswith("LOAD_FAST") and read[0].argval in tensors
    return (begun or bool(attributes & _STORED)) and attributes <= _STORED | _PASSING


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
        if isinstance(one, FunctionType) and not one.__code__.co_filename.startswith(TORCHS) and one is not function:
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
