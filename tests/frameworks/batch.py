"""Runs programs under the guard, each in a child that is forked once the frameworks are loaded.

`python batch.py MODULE,... FOLDER`: every `*.py` of the folder, with the report beside it as `*.json` and all output as
`*.log`. A framework takes seconds to load, a forked child starts at once.
"""

from __future__ import annotations

import importlib
import os
import runpy
import sys
import traceback
import warnings
from pathlib import Path


def run(program: Path) -> int:
    """The status of a program that ran in a child."""
    child = os.fork()
    if child == 0:
        log = os.open(program.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os._exit(_guarded(program))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _guarded(program: Path) -> int:
    sys.path.insert(0, str(program.parent))
    own = "runtime_guard.bridges" in program.read_text(encoding="utf-8")  # it guards itself
    report = str(program.with_suffix(".json"))
    sys.argv = [program.name] if own else ["runtime_guard", "--mode", "record", "--report", report, str(program)]
    try:
        if own:
            runpy.run_path(str(program), run_name="__main__")
        else:
            runpy.run_module("runtime_guard", run_name="__main__", alter_sys=True)
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        traceback.print_exc()
        return 99
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # what the frameworks say of each other and of this small machine
    for name in ["torch", "torch._dynamo", *sys.argv[1].split(",")]:
        importlib.import_module(name)
    import torch

    torch.set_num_threads(1)
    os.chdir(sys.argv[2])
    for each in sorted(Path(sys.argv[2]).glob("*.py")):
        sys.stdout.write(f"{each.stem} {run(each)}\n")
        sys.stdout.flush()
