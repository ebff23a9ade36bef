"""What a guard is asked to do: its mode, and which rules speak, from `[tool.amplint]` and from arguments.

The more exact selector wins: an id over a family over ALL; between equals the later one, `ignore` after `select` and
arguments after the file. `select` in the arguments replaces the file's. As in the static half, of which this package
imports nothing but the protocol, the catalogue and the dialects.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from amplint.catalogue import RULES
from amplint.catalogue.rule import Rule, Tier

MODES = ("raise", "warn", "record")
_OFF = "off"


class ConfigurationError(Exception):
    """What is wrong with an argument, the environment or the configuration, in one line that says what to change."""


def mode_of(asked: str, environment: Mapping[str, str] = os.environ) -> str:
    """The mode of a guard that is in use: `RUNTIME_GUARD` decides where it is set (`off` too). Raises
    ConfigurationError."""
    said = environment.get("RUNTIME_GUARD") or asked
    if said not in (*MODES, _OFF):
        source = "RUNTIME_GUARD" if environment.get("RUNTIME_GUARD") else "mode"
        raise ConfigurationError(f"{source}: `{said}` is no mode; it is one of {', '.join(MODES)}")
    return said


@dataclass(frozen=True)
class Choice:
    """Which rules speak where. `wishes` are selectors with whether they are wanted, in order."""

    wishes: tuple[tuple[str, bool], ...] = ()
    per_file: tuple[tuple[str, tuple[str, ...]], ...] = ()
    root: Path = Path()

    def speaks(self, rule: Rule, path: str) -> bool:
        """Whether a rule is selected in a file."""
        rank, wanted = -1, rule.tier is not Tier.OPT_IN
        for selector, wish in self.wishes:
            exactness = _exactness(selector, rule, wish)
            if exactness >= max(rank, 0):
                rank, wanted = exactness, wish
        return wanted and not self._silent(rule, path)

    def _silent(self, rule: Rule, path: str) -> bool:
        relative = _relative(path, self.root)
        return any(
            _covers(pattern, relative) and any(_exactness(name, rule, False) >= 0 for name in names)
            for pattern, names in self.per_file
        )


def choice(select: Sequence[str] | None = None, ignore: Iterable[str] = (), start: Path | None = None) -> Choice:
    """The choice of the nearest `[tool.amplint]` and of the arguments. Raises ConfigurationError."""
    ignore = tuple(ignore)
    _check((*(select or ()), *ignore), "--select or --ignore")
    file, table = _nearest(start or Path.cwd())
    wished = select if select is not None else table.get("select")
    wishes = [] if wished is None else [("ALL", False), *((name, True) for name in wished)]
    wishes += [(name, True) for name in table.get("extend-select", ())]
    wishes += [(name, False) for name in (*table.get("ignore", ()), *ignore)]
    _check((name for name, _ in wishes), str(file))
    per_file = tuple((pattern, tuple(names)) for pattern, names in table.get("per-file-ignores", {}).items())
    return Choice(tuple(wishes), per_file, file.parent if file else Path.cwd())


def _exactness(selector: str, rule: Rule, wanted: bool) -> int:
    """2 for the rule's id, 1 for its family, 0 for ALL, -1 if the selector is about others."""
    if selector == rule.id:
        return 2
    if selector == "ALL":
        return 0
    if rule.tier is Tier.OPT_IN and wanted:
        return -1
    return 1 if selector == rule.family else -1


def _check(names: Iterable[str], source: str) -> None:
    known = {"ALL", "amplint", *RULES, *(rule.family for rule in RULES.values())}
    own = {"syntax-error", "unreadable-file", "unused-ignore", "unknown-ignore"}
    for name in names:
        if name not in known | own:
            near = get_close_matches(name, known, 1)
            advice = f"did you mean `{near[0]}`?" if near else "`amplint rule` lists them"
            raise ConfigurationError(f"{source}: no rule or family is called `{name}`; {advice}")


def _nearest(start: Path) -> tuple[Path | None, dict[str, Any]]:
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file() and _table(file):
            return file, _extended(file)
    return None, {}


def _extended(file: Path, above: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The table of a file, on top of the tables that it extends. Raises ConfigurationError."""
    try:
        table = _table(file)
    except OSError as error:
        raise ConfigurationError(f"{file}: {error.strerror or error}") from None
    if file.resolve() in above:
        raise ConfigurationError(f"{file}: [tool.amplint] `extend` leads back to this file")
    if not isinstance(table.get("extend"), str):
        return table
    return {**_extended(file.parent / table["extend"], (*above, file.resolve())), **table}


def _table(file: Path) -> dict[str, Any]:
    text = file.read_bytes()
    if b"amplint" not in text:
        return {}
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table = tomllib.loads(text.decode()).get("tool", {}).get("amplint", {})
    except ValueError as error:
        raise ConfigurationError(f"{file}: not valid TOML: {error}") from None
    if not isinstance(table, dict):
        raise ConfigurationError(f"{file}: `tool.amplint` must be a table")
    return table


def _relative(path: str, root: Path) -> str:
    try:
        return Path(path).resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return Path(path).as_posix()


def _covers(pattern: str, path: str) -> bool:
    """Whether a pattern names a file or a folder that it lies in; `*` crosses `/`."""
    bare = pattern.replace("\\", "/").removeprefix("./").rstrip("/")
    for tail in ("/**", "/*"):
        bare = bare.removesuffix(tail)
    parts = Path(path).parts
    entries = ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]
    return any(fnmatch(entry, bare) or fnmatch(entry.rpartition("/")[2], bare) for entry in entries)
