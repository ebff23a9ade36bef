"""What a live example leaves in its model, and whether a rewritten one leaves the same."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from tests.rewrites.writing import Program, written

_ELSEWHERE = '''
class Anything:
    """What may be called, and does nothing."""

    def __init__(self, *given):
        pass

    def __call__(self, *given):
        return 0

    def __getattr__(self, name):
        return Anything()


def __getattr__(name):
    return Anything if name[0].isupper() else Anything()
'''
Numbers = list[torch.Tensor]


def numbers(program: Program) -> Numbers | str:
    """The parameters of every model of a program after it has run, or the name of the exception that ended it."""
    models: list[torch.nn.Module] = []
    with _beside(program), _collected(models), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        scope = {"__name__": "__main__"}
        module = types.ModuleType("__main__")
        module.__dict__.update(scope)
        try:
            exec(compile(written(program.tree)[0], "example.py", "exec"), module.__dict__)  # the program itself
        except Exception as error:
            return type(error).__name__
    return [value.detach().clone() for model in models for value in model.parameters(recurse=False)]


def same(one: Numbers | str, other: Numbers | str) -> bool:
    """Whether two programs left the same, to the last bit, or ended the same."""
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str) and one == other
    return len(one) == len(other) and all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@contextlib.contextmanager
def _beside(program: Program) -> Iterator[None]:
    """Lets the files beside a program be imported, and what is from elsewhere."""
    files = {"elsewhere": _ELSEWHERE} | {name: written(tree)[0] for name, tree in program.beside.items()}
    before = {name: sys.modules.pop(name, None) for name in files}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, f"{name}.py").write_text(text, encoding="utf-8")
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        try:
            yield
        finally:
            sys.path.remove(folder)
            for name, module in before.items():
                sys.modules.pop(name, None)
                if module is not None:
                    sys.modules[name] = module


@contextlib.contextmanager
def _collected(models: list[torch.nn.Module]) -> Iterator[None]:
    """Notes every leaf module of torch that is made."""
    whole: Any = torch.nn.Module.__init__

    def made(self: torch.nn.Module, *given: Any, **more: Any) -> None:
        whole(self, *given, **more)
        if type(self).__module__.startswith("torch.nn"):
            models.append(self)

    torch.nn.Module.__init__ = made  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.nn.Module.__init__ = whole  # type: ignore[method-assign]
