"""The words of the command line: what each command takes, and what `--help` says of it."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter, _ArgumentGroup
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from amplint.report import FORMATS

_ABOUT = """\
Finds the mistakes in mixed-precision and gradient-accumulation training loops
that never crash: in PyTorch code, before the run.
"""
_MORE = """\
other commands:
  amplint rule [ID]         what a rule says and why; without an id, all rules
  amplint loops [PATHS]     every training loop, drawn as it was understood
  amplint config [KEY]      what the configuration takes
  amplint server            a language server for editors, over stdin and stdout
  amplint clean             remove the cache
  amplint generate-shell-completion SHELL
  amplint check NAME        check a folder that is called like a command

exit status:
  0 nothing found, or only warnings    1 errors found    2 could not do what was asked    3 a fault of amplint's own
"""


@dataclass(frozen=True)
class Output:
    """One report: its format, and the file that it goes to; None is stdout."""

    format: str
    file: str | None = None


class Refused(Exception):
    """Arguments that cannot be followed: one line that says what to change."""


_OF_RUFF = {"--add-noqa": "--add-ignores"}


class _Arguments(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(f"{message}{self._meant(message)} (see `{self.prog} --help`)")

    def _meant(self, message: str) -> str:
        """The option that is nearest to the first one that is not known."""
        head, _, words = message.partition("unrecognized arguments: ")
        if head or not words.startswith("-"):
            return ""
        word = words.split()[0].partition("=")[0]
        near = [_OF_RUFF[word]] if word in _OF_RUFF else get_close_matches(word, self._option_string_actions, 1)
        return f"; did you mean `{near[0]}`?" if near else ""


def check_arguments() -> ArgumentParser:
    """What `amplint check` takes."""
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
    return _with_options(parser)


def option_arguments() -> ArgumentParser:
    """The options of `amplint check`."""
    return _with_options(_Arguments(add_help=False))


def _with_options(parser: ArgumentParser) -> ArgumentParser:
    for about in (_about_rules, _about_fixes, _about_output, _about_adoption, _about_settings):
        about(parser)
    return parser


def _about_rules(parser: ArgumentParser) -> None:
    rules = parser.add_argument_group("rules (ids, names of families, or ALL; several apart by commas)")
    rules.add_argument("--select", action="append", metavar="RULES", help="only these rules")
    rules.add_argument("--extend-select", action="append", metavar="RULES", help="these rules too")
    rules.add_argument("--ignore", action="append", metavar="RULES", help="not these rules")
    rules.add_argument("--strict", action="store_true", help="warnings fail too")


def _about_fixes(parser: ArgumentParser) -> None:
    fixes = parser.add_argument_group(
        "fixes (each is proved on a copy: its mistake is gone, and none is there that was not there before; another "
        "one that the mistake had hidden is told then)"
    )
    safe = "make the safe fixes: after a safe fix the program does what its source says"
    unsafe = "make the others too: an unsafe fix guesses what was meant"
    fixes.add_argument("--fix", action="store_true", help=safe)
    fixes.add_argument("--unsafe-fixes", action="store_true", default=None, help=unsafe)
    fixes.add_argument("--diff", action="store_true", help="tell the fixes as a patch, write nothing")
    fixes.add_argument("--fix-only", action="store_true", help="mend, and do not tell what is left")
    fixes.add_argument("--exit-non-zero-on-fix", action="store_true", help="exit with 1 if anything was mended")


def _about_output(parser: ArgumentParser) -> None:
    output = parser.add_argument_group("output")
    output.add_argument(
        "--output-format",
        action="append",
        type=_output,
        metavar="FORMAT[:FILE]",
        help=f"how to tell: {', '.join(FORMATS)} (default: full); may be given several times",
    )
    output.add_argument("-o", "--output-file", metavar="FILE", help="where to write instead of stdout")
    output.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="colours (default: auto)")
    output.add_argument(
        "--explain", action="store_true", help="also the page of each rule that speaks, below the findings"
    )
    output.add_argument("--statistics", action="store_true", help="how often each rule speaks, instead of where")
    output.add_argument("-e", "--exit-zero", action="store_true", help="exit with 0 even if errors are found")
    output.add_argument("-w", "--watch", action="store_true", help="check again whenever a file changes")
    output.add_argument("-q", "--quiet", action="store_true", help="findings only")
    output.add_argument("-v", "--verbose", action="store_true", help="also how many files were looked at, and the time")


def _about_adoption(parser: ArgumentParser) -> None:
    adoption = parser.add_argument_group("what is known already")
    adoption.add_argument("--baseline", type=Path, metavar="FILE", help="do not tell what this file holds")
    adoption.add_argument(
        "--runtime-report", type=Path, metavar="FILE", help="hold the findings against this report of runtime_guard"
    )
    adoption.add_argument("--no-baseline", action="store_true", help="use no baseline, not even the configured one")
    adoption.add_argument(
        "--write-baseline", action="store_true", help="write what is found to the baseline (amplint-baseline.json)"
    )
    adoption.add_argument("--add-ignores", action="store_true", help="silence what is found by a comment at each place")


def _about_settings(parser: ArgumentParser) -> None:
    settings = parser.add_argument_group("settings")
    _about_configuration(settings)
    settings.add_argument("--exclude", action="append", metavar="PATTERNS", help="leave these files and folders out")
    settings.add_argument("--extend-exclude", action="append", metavar="PATTERNS", help="leave these out too")
    settings.add_argument("--force-exclude", action="store_true", help="leave them out even if given by name")
    settings.add_argument("--markdown", action="store_true", help="also read the Python blocks of Markdown files")
    settings.add_argument(
        "--since", metavar="REF", help="only files that have changed since this reference of Git, and who imports them"
    )
    settings.add_argument("--show-files", action="store_true", help="list the files that would be checked, and stop")
    settings.add_argument("--show-settings", action="store_true", help="show what is configured, and stop")
    settings.add_argument("--stdin-filename", metavar="NAME", help="what to call the file that comes from stdin")
    settings.add_argument("--jobs", type=_positive, metavar="N", help="at most N processes (default: as many as cores)")
    settings.add_argument("-n", "--no-cache", action="store_true", help="neither read nor write a cache")
    _about_cache_dir(settings)
    settings.add_argument("-h", "--help", action="help", help="this help")
    settings.add_argument("--version", action="store_true", help="the version of amplint")


def _about_configuration(parser: ArgumentParser | _ArgumentGroup) -> None:
    parser.add_argument("--config", type=Path, metavar="FILE", help="use [tool.amplint] of this TOML file")
    parser.add_argument("--isolated", action="store_true", help="use no configuration file")


def _about_cache_dir(parser: ArgumentParser | _ArgumentGroup) -> None:
    parser.add_argument("--cache-dir", type=Path, metavar="DIR", help="where the cache is kept")


def clean_arguments() -> ArgumentParser:
    """What `amplint clean` takes."""
    parser = _Arguments(prog="amplint clean", description="Remove the cache of findings.", allow_abbrev=False)
    _about_configuration(parser)
    _about_cache_dir(parser)
    return parser


def config_arguments() -> ArgumentParser:
    """What `amplint config` takes."""
    parser = _Arguments(prog="amplint config", description="What [tool.amplint] takes.", allow_abbrev=False)
    parser.add_argument("key", nargs="?", metavar="KEY", help="the key; without it, all keys are told")
    parser.add_argument("--schema", action="store_true", help="all of it as JSON Schema, for editors")
    return parser


def server_arguments() -> ArgumentParser:
    """What `amplint server` takes."""
    about = "A language server for editors, over stdin and stdout."
    return _Arguments(prog="amplint server", description=about, allow_abbrev=False)


def completion_arguments() -> ArgumentParser:
    """What `amplint generate-shell-completion` takes."""
    about = "The completion script of a shell, for stdout."
    parser = _Arguments(prog="amplint generate-shell-completion", description=about, allow_abbrev=False)
    parser.add_argument("shell", metavar="SHELL", help="bash, zsh, fish, ...")
    return parser


def rule_arguments() -> ArgumentParser:
    """What `amplint rule` takes."""
    parser = _Arguments(prog="amplint rule", description="What a rule says and why.", allow_abbrev=False)
    parser.add_argument("id", nargs="?", metavar="ID", help="the rule; without it, all rules are listed")
    parser.add_argument("--all", action="store_true", help="the pages of all rules")
    parser.add_argument("--output-format", choices=("text", "json", "markdown"), default="text")
    return parser


def loops_arguments() -> ArgumentParser:
    """What `amplint loops` takes."""
    parser = _Arguments(
        prog="amplint loops", description="Every training loop, as it was understood.", allow_abbrev=False
    )
    parser.add_argument("paths", nargs="*", metavar="PATHS", help='files and folders (default ".")')
    parser.add_argument("--output-format", choices=("text", "json"), default="text")
    _about_configuration(parser)
    parser.add_argument("--jobs", type=_positive, metavar="N", help="at most N processes (default: as many as cores)")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"must be a whole number from 1, not {text!r}")
    return int(text)


def _output(text: str) -> Output:
    name, _, file = text.partition(":")
    if name not in FORMATS:
        near = get_close_matches(name, FORMATS, 1)
        meant = f"did you mean `{near[0]}`?" if near else f"it takes {', '.join(FORMATS)}"
        raise ArgumentTypeError(f"no format is called `{name}`; {meant}")
    return Output(name, file or None)


def names(values: Sequence[str] | None) -> list[str] | None:
    """The names in values that may each hold several, apart by commas; None if the option was not given."""
    if values is None:
        return None
    return [name.strip() for value in values for name in value.split(",") if name.strip()]
