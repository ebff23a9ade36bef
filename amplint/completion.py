"""What a shell offers when the command is typed: options, commands, rules, keys and files.

shtab (https://docs.iterative.ai/shtab, 1.7 or newer) writes the scripts; it is loaded for this command alone.
"""

from __future__ import annotations

import re
from argparse import Action, ArgumentParser
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from amplint.arguments import (
    Refused,
    check_arguments,
    config_arguments,
    loops_arguments,
    option_arguments,
    rule_arguments,
    server_arguments,
)

_COMMANDS = {
    "check": check_arguments,
    "rule": rule_arguments,
    "loops": loops_arguments,
    "config": config_arguments,
    "server": server_arguments,
}
_FILES = frozenset({"FILE", "PATHS", "FORMAT[:FILE]"})


def completion(shell: str) -> str:
    """The script of a shell. Raises Refused for one that is not known, and where shtab is not installed."""
    writer = _writer()
    if shell not in writer.SUPPORTED_SHELLS:
        raise Refused(f"there is no completion for `{shell}`, only for {', '.join(writer.SUPPORTED_SHELLS)}")
    script: str = writer.complete(_everything(writer), shell)
    # A word that is no command is a path: bash's own completion of files takes over where nothing else fits.
    return re.sub(r"^complete ", "complete -o default ", script, flags=re.MULTILINE) if shell == "bash" else script


def _writer() -> ModuleType:
    try:
        import shtab
    except ModuleNotFoundError:
        raise Refused("completion scripts are written by shtab: `pip install shtab`, then ask again") from None
    return shtab


def _everything(writer: ModuleType) -> ArgumentParser:
    """The command line as one parser: without a command, the options of `check`."""
    parser = ArgumentParser("amplint", parents=[option_arguments()], add_help=False)
    commands = parser.add_subparsers()
    inner = [
        commands.add_parser(name, help=made().description, parents=[made()], add_help=False)
        for name, made in _COMMANDS.items()
    ]
    for action in _actions([parser, *inner]):
        _complete(action, writer)
    return parser


def _actions(parsers: list[ArgumentParser]) -> Iterator[Action]:
    for parser in parsers:
        yield from parser._actions


def _complete(action: Any, writer: ModuleType) -> None:
    """What may stand at an argument."""
    from amplint.keys import KEYS
    from amplint.selection import ALL, known_rules

    rules = known_rules()
    if action.metavar in _FILES:
        action.complete = writer.FILE
    elif action.metavar == "DIR":
        action.complete = writer.DIRECTORY
    elif action.metavar == "ID":
        action.choices = list(rules)
    elif action.metavar == "RULES":
        action.choices = [ALL, *dict.fromkeys(rule.family for rule in rules.values()), *rules]
    elif action.metavar == "KEY":
        action.choices = list(KEYS)
