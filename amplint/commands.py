"""The command line: arguments in, exit code out.

0 nothing found, or only warnings; 1 errors found; 2 what was asked cannot be done; 3 our own fault; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import warnings
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from amplint.arguments import (
    Refused,
    check_arguments,
    clean_arguments,
    completion_arguments,
    config_arguments,
    loops_arguments,
    rule_arguments,
    server_arguments,
)
from amplint.checking import CANNOT, cache_dir, checked
from amplint.console import say, write
from amplint.settings import Overrides, SettingsError, load

if TYPE_CHECKING:
    from amplint.run import Analysis


def done(words: list[str], analysis: Analysis | None = None) -> int:
    """The exit code of a command. `analysis` stands in for the one that amplint brings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Python thinks of the user's code is not for us to say
        return _done(words, analysis)


def _done(words: list[str], analysis: Analysis | None) -> int:
    try:
        if words and words[0] in _COMMANDS:
            arguments, done = _COMMANDS[words[0]]
            return done(arguments().parse_args(words[1:]))
        if words[:1] in (["help"], ["version"]):
            words = [f"--{words[0]}"]
        return checked(check_arguments().parse_args(words[words[:1] == ["check"] :]), analysis)
    except (Refused, SettingsError) as refusal:
        return say(str(refusal), CANNOT)
    except SystemExit as end:  # argparse, after --help and --version
        return int(end.code or 0)
    except BrokenPipeError:  # whoever was reading has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CANNOT
    except KeyboardInterrupt:
        return 130


def _rule(asked: Namespace) -> int:
    from amplint.catalogue.pages import listing, page
    from amplint.selection import known_rules

    rules = known_rules()
    if asked.all and asked.output_format != "json":
        write("\n\n".join(page(rule, asked.output_format) for rule in rules.values()), None)
    elif asked.id is None:
        write(listing(rules.values(), asked.output_format), None)
    elif asked.id in rules:
        write(page(rules[asked.id], asked.output_format), None)
    else:
        from difflib import get_close_matches

        near = get_close_matches(asked.id, rules, 1)
        advice = f"did you mean `{near[0]}`?" if near else "`amplint rule` lists them"
        raise Refused(f"no rule is called `{asked.id}`; {advice}")
    return 0


def _loops(asked: Namespace) -> int:
    from amplint.drawing import loops
    from amplint.report import loops as report

    settings = load(Overrides(), asked.config, asked.isolated)
    outcome = loops(asked.paths or ["."], settings, asked.jobs)
    write(report.as_json(outcome.loops) if asked.output_format == "json" else report.text(outcome.loops), None)
    for line in (*outcome.lost, *(f"{path}: no such file or folder" for path in outcome.missing)):
        say(line)
    return CANNOT if outcome.missing else 0


_OF_SERVER = frozenset({"attrs", "cattrs", "lsprotocol", "pygls"})


def _server(asked: Namespace) -> int:
    try:
        from amplint.server.serving import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _OF_SERVER:
            raise
        raise Refused(
            "the language server needs pygls 2: `pip install 'amplint[server]'`, then start it again"
        ) from None
    return serve()


def _completion(asked: Namespace) -> int:
    from amplint.completion import completion

    return write(f"{completion(asked.shell)}\n", None)


def _clean(asked: Namespace) -> int:
    from amplint.cache import removed

    settings = load(Overrides(), asked.config, asked.isolated)
    folder = cache_dir(asked.cache_dir, settings, os.environ)
    return say(f"removed the cache in {folder}" if removed(folder) else f"there is no cache in {folder}", 0)


def _config(asked: Namespace) -> int:
    from amplint.keys import KEYS, meant

    if asked.schema:
        from amplint.schema import as_json

        return write(as_json(), None)
    if asked.key is not None and asked.key not in KEYS:
        raise Refused(f"[tool.amplint] takes no key `{asked.key}`{meant(asked.key, KEYS)}")
    wanted = [asked.key] if asked.key else list(KEYS)
    width = max(map(len, wanted))
    return write("".join(f"{key:<{width}}  {KEYS[key].about} {key} = {KEYS[key].example}\n" for key in wanted), None)


_COMMANDS: Mapping[str, tuple[Callable[[], ArgumentParser], Callable[[Namespace], int]]] = {
    "rule": (rule_arguments, _rule),
    "loops": (loops_arguments, _loops),
    "config": (config_arguments, _config),
    "server": (server_arguments, _server),
    "clean": (clean_arguments, _clean),
    "generate-shell-completion": (completion_arguments, _completion),
}
