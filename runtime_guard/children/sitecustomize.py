"""On the path of the children of a guarded run. A child of `multiprocessing` gets a guard as soon as it has torch.

Python imports the first `sitecustomize` that it finds when it starts, so this one imports the next one too, as if it
were not there. Everything else waits for torch: a process that never imports it pays nothing.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType

HERE = os.path.dirname(os.path.abspath(__file__))


class AfterTorch:
    """Finds torch as everybody else does, and begins to guard when it has been executed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of torch, once; None for everything else."""
        if name != "torch" or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_guard(module: ModuleType) -> None:
            execute(module)
            from runtime_guard import spawned

            spawned.begin()

        spec.loader.exec_module = execute_and_guard  # type: ignore[method-assign]
        return spec


def _hand_on() -> None:
    """Runs the `sitecustomize` that would have been found without this one."""
    others = [entry for entry in sys.path if os.path.abspath(entry) != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if "--multiprocessing-fork" in sys.orig_argv and os.environ.get("RUNTIME_GUARD_CHILDREN"):
    sys.meta_path.insert(0, AfterTorch())
_hand_on()
