"""Runs a script or module as `python` would, under the guard, and reports whatever happens.

Exit status: the script's own; 1 in mode `raise` after an error, and where nothing could be checked; what `--exit-code`
says after an error if the script itself did not fail; 2 for arguments that cannot be used.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from runtime_guard import spawned
from runtime_guard.configuration import MODES, ConfigurationError
from runtime_guard.endings import WindowsSeen
from runtime_guard.interim import EVERY
from runtime_guard.program import program, show
from runtime_guard.termination import reported
from runtime_guard.told import Told
from runtime_guard.written import promised, promised_folder


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
        options.tensorboard = promised_folder(options.tensorboard)
        return _run(options, program(target, is_module))
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
    parser.add_argument("--tensorboard", metavar="DIR", help="write curves and findings for TensorBoard")
    parser.add_argument(
        "--flush-every",
        type=_seconds,
        default=EVERY,
        metavar="SECONDS",
        help="write the reports while the run goes on, so often (default: 60; 0: after every step)",
    )
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


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds")
    return number


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _run(options: argparse.Namespace, program: Callable[[], None]) -> int | str | None:
    from runtime_guard.guarding import guard
    from runtime_guard.violations import ProtocolViolation

    if options.mode:
        os.environ["RUNTIME_GUARD"] = options.mode
    asked = {name: getattr(options, name) for name in ("accumulation_steps", "select", "ignore", "probe_every")}
    made = guard(**asked, stop_after_windows=options.stop_after_windows)
    made.whole = False  # children may have trained
    parts = tempfile.TemporaryDirectory(prefix="runtime_guard-", ignore_cleanup_errors=True)
    told = Told(made, options, parts)
    report: dict[str, Any] = {}
    status: int | str | None = 0
    own = True
    try:
        with reported(told.terminated), spawned.reaching_children(parts.name, asked), made:
            spawned.follow_forks(made)
            told.begin()
            program()
    except WindowsSeen:
        status, own = 0, False
    except SystemExit as left:
        status = left.code
    except ProtocolViolation as error:
        status, own = 1, False
        show(error)
    except KeyboardInterrupt as error:
        show(error)
        sys.excepthook = _nothing  # it is shown; Python still ends as it does when it is interrupted
        raise
    except Exception as error:
        status = 1
        show(error)
    finally:
        with parts:
            report.update(told.ended())
    if any(one["severity"] == "error" for one in report["violations"]):
        return _of_errors(options, made.mode, status) if not own or not status else status
    return _of_none(status, made.mode, report["unchecked"])


def _of_none(status: int | str | None, mode: str, unchecked: str | None) -> int | str | None:
    """The status of a run without errors: in the mode `raise` one in which nothing could be checked fails."""
    if status or mode != "raise" or unchecked is None:
        return status
    sys.stderr.write(f"runtime_guard: {unchecked}\n")
    return 1


def _nothing(*_: object) -> None:
    """What is done where nothing is to be done."""


def _of_errors(options: argparse.Namespace, mode: str, status: int | str | None) -> int | str | None:
    """The status of a run that ends well by itself, and in which errors were seen."""
    if options.exit_code is not None:
        return int(options.exit_code)
    return 1 if mode == "raise" else status
