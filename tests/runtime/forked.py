"""Runs `python -m runtime_guard ...` in a child that is forked from a server which has torch loaded already.

A fresh interpreter spends two seconds on `import torch`; a forked child starts at once and is as clean as a fresh one,
because the server never runs any code of a test.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import runpy
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS = 60.0  # far more than any script needs

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["torch", "torch._dynamo", "amplint.catalogue"])  # optimizers load dynamo


@dataclass(frozen=True)
class Done:
    """What a finished run left behind."""

    status: int | None
    stdout: str
    stderr: str


def run_module(
    module: str,
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    paths: Sequence[Path] = (),
) -> Done:
    """The outcome of `python -m MODULE ARGUMENTS...` in `folder`, with a few more environment variables, and places
    where modules are looked for.

    Raises TimeoutError, with what was written so far, when the child does not end.
    """
    with tempfile.TemporaryDirectory() as space:
        out, err = Path(space, "out"), Path(space, "err")
        found = [str(folder), *map(str, paths)]
        child = _context.Process(
            target=_child, args=(module, list(arguments), found, dict(environment or {}), str(out), str(err))
        )
        child.start()
        child.join(SECONDS)
        if child.is_alive():
            child.kill()
            child.join()
            raise TimeoutError(f"{module} {' '.join(arguments)}: {_text(out)}{_text(err)}")
        return Done(child.exitcode, _text(out), _text(err))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _child(
    module: str, arguments: list[str], paths: list[str], environment: dict[str, str], out: str, err: str
) -> None:
    """Runs in the child, in the first of the paths. Ends with the status that the interpreter would have given."""
    for path, number in ((out, 1), (err, 2)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - lives as long as the child
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    os.chdir(paths[0])
    os.environ.update(environment)
    sys.path[:0] = paths
    sys.argv = [module, *arguments]
    import torch  # the server has it already

    torch.set_num_threads(1)  # tiny tensors: threads would only wait for each other
    status = _status(module)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(ValueError):
            stream.flush()
    os._exit(status)


def _status(module: str) -> int:
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            return leaving.code or 0
        sys.stderr.write(f"{leaving.code}\n")
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0
