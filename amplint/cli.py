"""The command line: arguments in, exit code out.

0 nothing found, or only warnings; 1 errors found; 2 what was asked cannot be done; 3 our own fault; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from amplint.report import FORMATS
from amplint.settings import Overrides, Settings, SettingsError, load

if TYPE_CHECKING:
    from amplint.run import Analysis, Outcome

CANNOT, INTERRUPTED = 2, 130

_ABOUT = """\
Finds the mistakes in mixed-precision and gradient-accumulation training loops
that never crash: in PyTorch code, before the run.
"""
_MORE = """\
other commands:
  amplint rule [ID]         what a rule says and why; without an id, all rules
  amplint loops [PATHS]     every training loop, drawn as it was understood
  amplint check NAME        check a folder that is called like a command

exit status:
  0 nothing found, or only warnings    1 errors found    2 could not do what was asked    3 a fault of amplint's own
"""


class Refused(Exception):
    """Arguments that cannot be followed: one line that says what to change."""


class _Arguments(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(f"{message} (see `{self.prog} --help`)")


def main(argv: Sequence[str] | None = None, analysis: Analysis | None = None) -> int:
    """The exit code. `analysis` stands in for the one that amplint brings."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if words[:1] == ["rule"]:
            return _rule(_rule_arguments().parse_args(words[1:]))
        if words[:1] == ["loops"]:
            return _loops(_loops_arguments().parse_args(words[1:]))
        return _check(_check_arguments().parse_args(words[words[:1] == ["check"] :]), analysis)
    except (Refused, SettingsError) as refusal:
        return _say(str(refusal), CANNOT)
    except SystemExit as end:  # argparse, after --help and --version
        return int(end.code or 0)
    except BrokenPipeError:  # whoever was reading has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CANNOT
    except KeyboardInterrupt:
        return INTERRUPTED


# --- arguments -------------------------------------------------------------------------------------------------------


def _check_arguments() -> ArgumentParser:
    parser = _Arguments(
        prog="amplint",
        usage="amplint [check] [OPTIONS] [PATHS ...]",
        description=_ABOUT,
        epilog=_MORE,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("paths", nargs="*", metavar="PATHS", help='files and folders (default "."); "-" is stdin')

    rules = parser.add_argument_group("rules (ids, names of families, or ALL; several apart by commas)")
    rules.add_argument("--select", action="append", metavar="RULES", help="only these rules")
    rules.add_argument("--extend-select", action="append", metavar="RULES", help="these rules too")
    rules.add_argument("--ignore", action="append", metavar="RULES", help="not these rules")
    rules.add_argument("--strict", action="store_true", help="warnings fail too")

    output = parser.add_argument_group("output")
    output.add_argument("--output-format", choices=FORMATS, default="full", help="how to tell (default: full)")
    output.add_argument("--output-file", metavar="FILE", help="where to write instead of stdout")
    output.add_argument("--statistics", action="store_true", help="how often each rule speaks, instead of where")
    output.add_argument("--exit-zero", action="store_true", help="exit with 0 even if errors are found")
    output.add_argument("-q", "--quiet", action="store_true", help="findings only")
    output.add_argument("-v", "--verbose", action="store_true", help="also how many files were looked at, and the time")

    settings = parser.add_argument_group("settings")
    settings.add_argument("--config", type=Path, metavar="FILE", help="use [tool.amplint] of this TOML file")
    settings.add_argument("--isolated", action="store_true", help="use no configuration file")
    settings.add_argument("--stdin-filename", metavar="NAME", help="what to call the file that comes from stdin")
    settings.add_argument("--jobs", type=_positive, metavar="N", help="at most N processes (default: as many as cores)")
    settings.add_argument("--no-cache", action="store_true", help="neither read nor write a cache")
    settings.add_argument("--cache-dir", type=Path, metavar="DIR", help="where the cache is kept")

    settings.add_argument("-h", "--help", action="help", help="this help")
    settings.add_argument("--version", action="store_true", help="the version of amplint")
    return parser


def _rule_arguments() -> ArgumentParser:
    parser = _Arguments(prog="amplint rule", description="What a rule says and why.", allow_abbrev=False)
    parser.add_argument("id", nargs="?", metavar="ID", help="the rule; without it, all rules are listed")
    parser.add_argument("--output-format", choices=("text", "json", "markdown"), default="text")
    return parser


def _loops_arguments() -> ArgumentParser:
    parser = _Arguments(
        prog="amplint loops", description="Every training loop, as it was understood.", allow_abbrev=False
    )
    parser.add_argument("paths", nargs="*", metavar="PATHS", help='files and folders (default ".")')
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    parser.add_argument("--config", type=Path, metavar="FILE", help="use [tool.amplint] of this TOML file")
    parser.add_argument("--isolated", action="store_true", help="use no configuration file")
    parser.add_argument("--jobs", type=_positive, metavar="N", help="at most N processes (default: as many as cores)")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"must be a whole number from 1, not {text!r}")
    return int(text)


def _names(values: Sequence[str] | None) -> list[str] | None:
    if values is None:
        return None
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


# --- check -----------------------------------------------------------------------------------------------------------


def _check(asked: Namespace, analysis: Analysis | None) -> int:
    if asked.version:
        return _version()
    if asked.config and asked.isolated:
        raise Refused("--config and --isolated exclude each other")
    said = Overrides(
        _names(asked.select), _names(asked.ignore) or [], _names(asked.extend_select) or [], strict=asked.strict
    )
    settings = load(said, asked.config, asked.isolated)
    started = time.perf_counter()
    outcome = _outcome(asked, settings, analysis)
    _write(_told(asked, outcome), asked.output_file)
    _say_the_rest(asked, outcome, time.perf_counter() - started)
    return outcome.exit_code(settings.strict, asked.exit_zero)


def _outcome(asked: Namespace, settings: Settings, analysis: Analysis | None) -> Outcome:
    from amplint.report.progress import Progress
    from amplint.run import check, check_text

    if asked.paths == ["-"] or (asked.stdin_filename and not asked.paths):
        return check_text(sys.stdin.buffer.read(), asked.stdin_filename or "-", settings, analysis)
    if "-" in asked.paths:
        raise Refused('"-" stands for stdin and cannot be given together with other paths')
    if asked.stdin_filename:
        raise Refused('--stdin-filename needs "-" as the only path')
    progress = Progress(sys.stderr, os.environ)
    try:
        return check(asked.paths or ["."], settings, asked.jobs, analysis, None if asked.quiet else progress)
    finally:
        progress.clear()


def _told(asked: Namespace, outcome: Outcome) -> str:
    from amplint.report import Report, render
    from amplint.report.paint import wants_colour
    from amplint.report.summary import statistics, statistics_json, summary

    if asked.statistics and asked.output_format == "json":
        return statistics_json(outcome.findings)
    colour = asked.output_file is None and wants_colour(sys.stdout, os.environ)
    told = (
        statistics(outcome.findings)
        if asked.statistics
        else render(asked.output_format, Report(outcome.findings, outcome.texts, colour))
    )
    if asked.output_format not in ("full", "concise") or asked.quiet:
        return told
    if not outcome.findings and (outcome.crashes or outcome.missing or not outcome.found):
        return told  # nothing was found, but that is no praise
    return told + summary(outcome.findings) + "\n"


def _say_the_rest(asked: Namespace, outcome: Outcome, seconds: float) -> None:
    """What is not a finding, on stderr: what could not be done, and, if asked for, what was."""
    for path in outcome.missing:
        _say(f"{path}: no such file or folder")
    for filename, crash in outcome.crashes:
        _say(f"{filename}: a fault of amplint's own, this file was not checked. Please report it with these lines:")
        sys.stderr.write(f"    amplint {_release()}, Python {sys.version.split()[0]}, {sys.platform}\n")
        sys.stderr.write("".join(f"    {line}\n" for line in crash.splitlines()))
    if not outcome.found and not outcome.missing and not asked.quiet:
        _say("no Python files found")
    if asked.verbose:
        from amplint.report.summary import counted

        found = f"{counted(outcome.found, 'file')} found, {outcome.relevant} with words of training"
        _say(f"{found}, {outcome.analysed} analysed; {seconds:.2f} s")


def _write(text: str, file: str | None) -> None:
    """Write to a file or to stdout, where what its encoding lacks is escaped. Raises Refused."""
    if file is None:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
        return
    try:
        Path(file).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    except OSError as error:
        raise Refused(f"--output-file {file}: {error.strerror or error}") from None


def _say(line: str, code: int = 0) -> int:
    sys.stderr.write(f"amplint: {line}\n")  # stderr escapes what its encoding lacks
    return code


# --- the other commands ----------------------------------------------------------------------------------------------


def _rule(asked: Namespace) -> int:
    from amplint.catalogue.pages import listing, page
    from amplint.selection import known_rules

    rules = known_rules()
    if asked.id is None:
        _write(listing(rules.values(), asked.output_format), None)
    elif asked.id in rules:
        _write(page(rules[asked.id], asked.output_format), None)
    else:
        from difflib import get_close_matches

        near = get_close_matches(asked.id, rules, 1)
        advice = f"did you mean `{near[0]}`?" if near else "`amplint rule` lists them"
        raise Refused(f"no rule is called `{asked.id}`; {advice}")
    return 0


def _loops(asked: Namespace) -> int:
    from amplint.report import loops as report
    from amplint.run import loops

    settings = load(Overrides(None, [], []), asked.config, asked.isolated)
    outcome = loops(asked.paths or ["."], settings, asked.jobs)
    _write(report.as_json(outcome.loops) if asked.output_format == "json" else report.text(outcome.loops), None)
    for line in (*outcome.lost, *(f"{path}: no such file or folder" for path in outcome.missing)):
        _say(line)
    return CANNOT if outcome.missing else 0


def _version() -> int:
    _write(f"amplint {_release()}\n", None)
    return 0


def _release() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("amplint")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "(not installed)"
