"""What the user calls the number that a loss was divided by: a variable of that value whose name speaks of windows.

Variables are only read, once for each place of a backward, and only in the first windows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sized
from types import FrameType
from typing import Any

from torch.utils.data import DataLoader

from runtime_guard.late_division import variables

_WINDOW = re.compile(r"(?i)accum|micro_?(batch|step)|grad_?acc")
_HOLDERS = frozenset({"self", "args", "cfg", "config", "opt", "hparams", "settings"})


def divisor_in(frames: Iterable[FrameType], weight: float, length: str | None = None) -> str | None:
    """The name of a variable, or attribute of one, that counts the micro-steps of a window and is 1 / `weight`: by what
    it is called, or because a gate has this `length`."""
    if not 0 < weight <= 0.5:
        return None
    for frame in frames:
        if length is not None and (value := _valued(frame, length)) is not None and abs(value * weight - 1) < 1e-6:
            return length
        for name, value in _counts(frame):
            if abs(value * weight - 1) < 1e-6:
                return name
    return None


def batches_in(loops: Iterable[tuple[FrameType, ast.For | ast.While]], divisor: float) -> str | None:
    """The spelling of the number of batches that one of the running loops goes through, if it is this `divisor` and if
    something is divided by it there."""
    for frame, loop in loops:
        if not isinstance(loop, ast.For):
            continue
        for name in map(ast.unparse, _gone_through(loop.iter)):
            length = f"len({name})"
            value = _value(frame, name)
            if isinstance(value, list | tuple | DataLoader) and _sized(value) == divisor and _divides(loop, length):
                return length
    return None


def _gone_through(iterated: ast.expr) -> list[ast.expr]:
    """The names of what a loop goes through: by itself, or handed to `enumerate` or a progress bar."""
    if isinstance(iterated, ast.Call):
        return [name for argument in iterated.args for name in _gone_through(argument)]
    return [iterated] if isinstance(iterated, ast.Name | ast.Attribute) else []


def _sized(value: Sized) -> int | None:
    try:
        return len(value)
    except TypeError:  # a loader of an iterable dataset
        return None


def _divides(loop: ast.For, length: str) -> bool:
    """Whether something is divided by a length in a loop."""
    divisions = [node for node in ast.walk(loop) if isinstance(node, ast.BinOp | ast.AugAssign)]
    by = [node.right if isinstance(node, ast.BinOp) else node.value for node in divisions if type(node.op) is ast.Div]
    return any(ast.unparse(one) == length for one in by)


def _valued(frame: FrameType, name: str) -> int | None:
    """The whole number that a variable, or an attribute of one, holds; None if it holds another thing."""
    value = _value(frame, name)
    return value if type(value) is int and value > 1 else None


def _value(frame: FrameType, name: str) -> Any:
    """What a variable, or an attribute of one, holds; None if there is none."""
    first, *parts = name.split(".")
    value = {**frame.f_globals, **variables(frame)}.get(first)
    for part in parts:
        value = getattr(value, "__dict__", {}).get(part)
    return value


def _counts(frame: FrameType) -> Iterator[tuple[str, int]]:
    found = {**frame.f_globals, **variables(frame)}
    for name, value in found.items():
        if _is_count(name, value):
            yield name, value
        elif name in _HOLDERS:
            attributes: dict[str, Any] = getattr(value, "__dict__", {})
            yield from ((f"{name}.{part}", inner) for part, inner in attributes.items() if _is_count(part, inner))


def _is_count(name: str, value: object) -> bool:
    return type(value) is int and value > 1 and _WINDOW.search(name) is not None
