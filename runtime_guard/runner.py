"""Runs a script or module as `python` would, under the guard, and reports whatever happens.

Exit status: the script's own; 1 in mode `raise` after an error, and where nothing could be checked; what `--exit-code`
says after an error if the script itself did not fail; 2 for arguments that cannot be used.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from runtime_guard import spawned
from runtime_guard.configuration import MODES, ConfigurationError
from runtime_guard.termination import Terminated, reported
from runtime_guard.written import promised, write

_HERE = os.path.dirname(os.path.abspath(__file__))
_PATIENCE = 2.0
"""So many seconds a process that was asked to terminate waits for the other ranks: soon it is killed."""


def main(arguments: Sequence[str] | None = None) -> int | str | None:
    """The exit status of the run, as `sys.exit` takes it."""
    parser = _parser()
    own, is_module, target = _split(parser, list(sys.argv[1:] if arguments is None else arguments))
    options = parser.parse_args(own)
    if options.version:
        sys.stdout.write(f"runtime_guard {_release('amplint')} (torch {_release('torch')})\n")
        return 0
    options.target = target[0] if target else None
    if not target:
        parser.error("a SCRIPT or -m MODULE is needed")
    options.script = target[0]
    try:
        _require_torch()
        options.report, options.html = promised(options.report), promised(options.html)
        return _run(options, _program(target, is_module))
    except ConfigurationError as error:
        sys.stderr.write(f"runtime_guard: {error}\n")
        return 2


def _require_torch() -> None:
    """Raises ConfigurationError where there is no torch."""
    if "torch" not in sys.modules and find_spec("torch") is None:
        raise ConfigurationError(
            f"{sys.executable} has no torch; run the guard with the Python that trains: `python -m pip install` "
            "amplint there, then `python -m runtime_guard ...`"
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="runtime_guard",
        usage="python -m runtime_guard [options] SCRIPT|-m MODULE [ARGS]",
        description="Runs a PyTorch training script and says what is wrong with its steps, and what is right.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the versions of the guard and of torch")
    parser.add_argument("--mode", choices=MODES, help="at an error: raise, warn (default) or only record it")
    parser.add_argument("--report", metavar="FILE", help="write the report as JSON")
    parser.add_argument("--html", metavar="FILE", help="write the report as one self-contained page")
    parser.add_argument("--tensorboard", metavar="DIR", help="write the curves as TensorBoard scalars")
    parser.add_argument("--accumulation-steps", type=_positive, metavar="N", help="what a window is meant to hold")
    parser.add_argument(
        "--probe-every",
        type=_positive,
        default=16,
        metavar="K",
        help="after the first windows, measure every K-th (of a steady loop, one in 16 K, and at most one in 256)",
    )
    parser.add_argument("--stop-after-windows", type=_positive, metavar="N", help="end the run after N windows")
    parser.add_argument("--exit-code", type=int, metavar="N", help="the status of a run with errors, in any mode")
    parser.add_argument("--select", type=_names, metavar="RULE,...", help="rules or families that speak")
    parser.add_argument("--ignore", type=_names, default=(), metavar="RULE,...", help="rules or families that do not")
    parser.add_argument("--lint", action="store_true", help="read the files of the run too, and say what it confirms")
    parser.add_argument("-q", "--quiet", action="store_true", help="no summary in the terminal")
    return parser


def _release(name: str) -> str:
    """The version of a package; `(not installed)` for one that is not there, or a checkout."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"


def _split(parser: argparse.ArgumentParser, arguments: list[str]) -> tuple[list[str], bool, list[str]]:
    """The guard's own arguments, whether `-m` follows them, and what is to be run with its arguments."""
    flags = {"-h", "--help", "--version", "-q", "--quiet", "--lint"}
    at = 0
    while at < len(arguments):
        one = arguments[at]
        if one == "-m":
            return arguments[:at], True, arguments[at + 1 :]
        if not one.startswith("-"):
            return arguments[:at], False, arguments[at:]
        at += 1 if one in flags or "=" in one else 2
    return arguments, False, []


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _run(options: argparse.Namespace, program: Callable[[], None]) -> int | str | None:
    from runtime_guard.guarding import WindowsSeen, guard
    from runtime_guard.violations import ProtocolViolation

    if options.mode:
        os.environ["RUNTIME_GUARD"] = options.mode
    asked = {name: getattr(options, name) for name in ("accumulation_steps", "select", "ignore", "probe_every")}
    made = guard(**asked, stop_after_windows=options.stop_after_windows)
    made.whole = False  # children may have trained
    parts = tempfile.TemporaryDirectory(prefix="runtime_guard-", ignore_cleanup_errors=True)
    report: dict[str, Any] = {}
    status: int | str | None = 0
    own = True
    try:
        with reported(partial(_terminated, made, options, parts)), spawned.reaching_children(parts.name, asked), made:
            spawned.follow_forks(made)
            program()
    except WindowsSeen:
        status, own = 0, False
    except SystemExit as left:
        status = left.code
    except ProtocolViolation as error:
        status, own = 1, False
        _show(error)
    except Exception as error:
        status = 1
        _show(error)
    finally:
        with parts:
            report.update(_report(made, options, spawned.collected(parts.name)))
    errors = any(one["severity"] == "error" for one in report["violations"])
    if errors:
        return _of_errors(options, made.mode, status) if not own or not status else status
    if status or made.mode != "raise" or report["unchecked"] is None:
        return status
    sys.stderr.write(f"runtime_guard: {report['unchecked']}\n")
    return 1


def _of_errors(options: argparse.Namespace, mode: str, status: int | str | None) -> int | str | None:
    """The status of a run that ends well by itself, and in which errors were seen."""
    if options.exit_code is not None:
        return int(options.exit_code)
    return 1 if mode == "raise" else status


def _terminated(made: Any, options: argparse.Namespace, parts: tempfile.TemporaryDirectory[str]) -> None:
    """Ends the guard and writes its report, amid whatever the script does."""
    made.recorder.ranks.patience = _PATIENCE
    made.__exit__(Terminated, Terminated(), None)
    with parts:
        _report(made, options, spawned.collected(parts.name))
    sys.stderr.flush()


def _program(target: Sequence[str], is_module: bool) -> Callable[[], None]:
    """What runs the target as `__main__`, with the arguments and the path that it would have. Raises
    ConfigurationError for a file that cannot be read."""
    name, path = target[0], Path(target[0])
    if is_module:
        return partial(
            _begin, target, os.getcwd(), partial(runpy.run_module, name, run_name="__main__", alter_sys=True)
        )
    if path.is_dir() or path.suffix in (".zip", ".pyz"):
        return partial(_begin, target, None, partial(runpy.run_path, name, run_name="__main__"))
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{name}: {error.strerror or error}") from None
    return partial(_begin, target, str(path.resolve().parent), partial(_as_main, text, name))


def _begin(target: Sequence[str], folder: str | None, run: Callable[[], Any]) -> None:
    sys.argv = list(target)
    if folder is not None:
        sys.path[0] = folder
    run()


def _as_main(text: bytes, name: str) -> None:
    """Runs source in a module that stays `__main__`, so that what pickles or spawns finds it there."""
    module = ModuleType("__main__")
    module.__dict__.update({"__file__": name, "__builtins__": __builtins__, "__spec__": None})
    sys.modules["__main__"] = module
    exec(compile(text, os.path.abspath(name), "exec"), module.__dict__)


def _show(error: BaseException) -> None:
    """The traceback that the script would have had alone."""
    trace = error.__traceback__
    while trace is not None and _ours(trace):
        trace = trace.tb_next
    error.__traceback__ = trace
    if sys.excepthook is not sys.__excepthook__:
        sys.excepthook(type(error), error, trace)
    else:
        traceback.print_exception(type(error), error, trace)


def _ours(trace: TracebackType) -> bool:
    name = trace.tb_frame.f_code.co_filename
    return name.startswith((_HERE, "<frozen runpy")) or name == runpy.__file__


def _report(made: Any, options: argparse.Namespace, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Writes what was asked for; the report of this process and of the children that it spawned."""
    own = {**made.report(), "script": options.script}
    report = spawned.joined(own, parts)
    told = ""
    if options.lint:
        from runtime_guard.report.linted import linted

        report["static"], told = linted(report)
    if options.report:
        write(made.recorder.ranks.own(options.report), json.dumps(report, indent=2, default=str) + "\n")
    if options.html:
        from runtime_guard.report.html import page

        write(made.recorder.ranks.own(options.html), page(report))
    if not options.quiet:
        from runtime_guard.report.terminal import summary

        sys.stderr.write(summary(made, own) + "".join(part.get("summary", "") for part in parts))
    sys.stderr.write(told)
    if options.tensorboard:
        from runtime_guard.report import tensorboard

        try:
            tensorboard.write(report, options.tensorboard)
        except tensorboard.TensorBoardMissing as error:
            sys.stderr.write(f"runtime_guard: {error}\n")
    return report
