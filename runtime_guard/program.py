"""A program that is run as `python` would run it: what it finds about itself is the same, and what its errors show.

What plain Python sets of a script was read in CPython 3.11 to 3.13 (`Modules/main.c`, `Python/pathconfig.c`) and is
compared by running both (`tests/runtime/test_plain_python.py`).
"""

from __future__ import annotations

import builtins
import importlib.util
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

from runtime_guard.configuration import ConfigurationError
from runtime_guard.frames import PASSED_OVER

_HERE = os.path.dirname(os.path.abspath(__file__))


def program(target: Sequence[str], is_module: bool) -> Callable[[], None]:
    """What runs the target as `__main__`, with the arguments and the path that it would have. Raises
    ConfigurationError for a file that cannot be read."""
    name, path = target[0], Path(target[0])
    whole = os.path.join(os.getcwd(), name)
    if is_module:
        run: Callable[[], Any] = partial(runpy.run_module, name, _noted(), run_name="__main__", alter_sys=True)
        return partial(_begin, target, os.getcwd(), run)
    if path.is_dir() or path.suffix in (".zip", ".pyz"):
        return partial(_begin, target, whole, partial(_of_folder, name))
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{name}: {error.strerror or error}") from None
    return partial(_begin, target, str(path.resolve().parent), partial(_of_file, text, whole))


def _begin(target: Sequence[str], folder: str, run: Callable[[], Any]) -> None:
    """Runs with the arguments of the target. Python in safe mode puts no folder of a script on the path, and none of
    ours is there to be replaced; that of a program which is a folder it does."""
    sys.argv = list(target)
    if not getattr(sys.flags, "safe_path", False):  # since Python 3.11
        sys.path[0] = folder
    elif isinstance(run, partial) and run.func is _of_folder:
        sys.path.insert(0, folder)
    run()


def _of_file(text: bytes, name: str) -> None:
    """Runs source."""
    cached: dict[str, Any] = {} if sys.version_info >= (3, 15) else {"__cached__": None}
    space = {"__file__": name, "__loader__": SourceFileLoader("__main__", name), **cached}
    _as_main(compile(text, name, "exec"), space)


def _of_folder(name: str) -> None:
    """Runs the `__main__` of a folder or an archive that is on the path. Leaves as Python does where it has none."""
    running = sys.modules.pop("__main__")
    try:
        spec = importlib.util.find_spec("__main__")
    finally:
        sys.modules["__main__"] = running
    loader: Any = spec.loader if spec is not None else None
    if spec is None or loader is None:
        sys.exit(f"{sys.executable}: can't find '__main__' module in {name!r}")
    cached: dict[str, Any] = {} if sys.version_info >= (3, 15) else {"__cached__": spec.cached}
    space = {"__file__": spec.origin, "__loader__": loader, "__spec__": spec, "__package__": spec.parent}
    _as_main(loader.get_code("__main__"), {**space, **cached})


def _noted() -> dict[str, Any]:
    """What a module that is run has from its beginning: Python's builtins and, before Python 3.14, annotations."""
    noted: dict[str, Any] = {} if sys.version_info >= (3, 14) else {"__annotations__": {}}
    return {"__builtins__": builtins, **noted}


def _as_main(code: CodeType, space: dict[str, Any]) -> None:
    """Runs code in a module that stays `__main__`, so that what pickles or spawns finds it there."""
    module = ModuleType("__main__")
    module.__dict__.update({**space, **_noted()})
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


def show(error: BaseException) -> None:
    """The traceback that the program would have had alone: no frame of this package is in it."""
    for one in _chain(error):
        one.__traceback__ = _without_ours(one.__traceback__)
    trace = error.__traceback__
    if sys.excepthook is not sys.__excepthook__:
        sys.excepthook(type(error), error, trace)
    else:
        traceback.print_exception(type(error), error, trace)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and those that led to it, each once."""
    waiting, seen = [error], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += [other for other in (one.__cause__, one.__context__) if other is not None]


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of this package, and of what runs a module."""
    kept = []
    while trace is not None:
        if not _ours(trace):
            kept.append(trace)
        trace = trace.tb_next
    found: TracebackType | None = None
    for one in reversed(kept):
        found = TracebackType(found, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return found


def _ours(trace: TracebackType) -> bool:
    name = trace.tb_frame.f_code.co_filename
    return name.startswith((_HERE, "<frozen runpy", PASSED_OVER)) or name == runpy.__file__
