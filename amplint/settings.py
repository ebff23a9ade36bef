"""What a run is asked to do: `[tool.amplint]` of the nearest pyproject.toml and the command line, as one value.

A key that nobody reads, a rule that nobody knows and a value of the wrong type are errors that name the file and the
key: a setting that has no effect is worse than none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from amplint.selection import Request, Selection, misnamed, requests

DIALECT_KEYS = {"event": str, "divides": bool, "scales": bool, "unscales": bool, "gates": bool}


class SettingsError(Exception):
    """What is wrong with the configuration or an argument, in one line that says what to change."""


@dataclass(frozen=True)
class Settings:
    """Everything that decides what is reported. `root` is the folder that patterns are relative to."""

    root: Path
    selection: Selection = Selection()
    exclude: tuple[str, ...] = ()
    strict: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)
    dialects: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Overrides:
    """What the command line says; None where it says nothing."""

    select: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    extend_select: Sequence[str] = ()
    strict: bool = False


def load(said: Overrides, config: Path | None = None, isolated: bool = False) -> Settings:
    """The settings of a run started in the working directory. Raises SettingsError."""
    for option in ("select", "ignore", "extend_select"):
        if wrong := misnamed(getattr(said, option) or ()):
            raise SettingsError(f"--{option.replace('_', '-')}: {wrong}")
    here = Path.cwd()
    file = None if isolated else config or _nearest(here)
    table = _table(file, required=config is not None) if file else {}
    _check(table, file or here)
    asked = requests(table.get("select"), table.get("extend-select", ()), table.get("ignore", ()), Selection().requests)
    asked = requests(said.select, said.extend_select, said.ignore, asked)
    per_file = tuple(
        (pattern, tuple(Request(name, False) for name in names))
        for pattern, names in table.get("per-file-ignores", {}).items()
    )
    return Settings(
        root=file.resolve().parent if file else here,
        selection=Selection(asked, per_file),
        exclude=tuple(table.get("exclude", ())),
        strict=said.strict or table.get("strict", False),
        versions=table.get("versions", {}),
        dialects=table.get("dialects", {}),
    )


def _nearest(start: Path) -> Path | None:
    """The nearest pyproject.toml, from a folder upwards, that has something to say to amplint."""
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file() and _table(file, required=False):
            return file
    return None


def _table(file: Path, required: bool) -> dict[str, Any]:
    """`[tool.amplint]` of a file; empty if it has none and none is required. Raises SettingsError."""
    try:
        text = file.read_bytes()
    except OSError as error:
        raise SettingsError(f"{_shown(file)}: {error.strerror or error}") from None
    document = _parsed(file, text) if b"amplint" in text else {}
    tool = document.get("tool", {})
    table = tool.get("amplint") if isinstance(tool, dict) else None
    if table is None and required:
        raise SettingsError(f"{_shown(file)}: there is no [tool.amplint] in it")
    if not isinstance(table, dict | None):
        raise SettingsError(f"{_shown(file)}: `tool.amplint` must be a table")
    return table or {}


def _parsed(file: Path, text: bytes) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text.decode())
    except ValueError as error:  # of TOML or of UTF-8
        raise SettingsError(f"{_shown(file)}: not valid TOML: {error}") from None


# --- what a table may hold -------------------------------------------------------------------------------------------


def _rules(value: Any) -> str | None:
    return _strings(value) or misnamed(value)


def _strings(value: Any) -> str | None:
    right = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return None if right else f"must be a list of strings, not {_kind(value)}"


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else f"must be true or false, not {_kind(value)}"


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) else f"must be a string, not {_kind(value)}"


def _each(check: Callable[[Any], str | None]) -> Callable[[Any], Iterator[tuple[str, str]]]:
    def check_all(value: Any) -> Iterator[tuple[str, str]]:
        if not isinstance(value, dict):
            yield "", f"must be a table, not {_kind(value)}"
            return
        for key, inner in value.items():
            if wrong := check(inner):
                yield f'."{key}"', wrong

    return check_all


def _one(check: Callable[[Any], str | None]) -> Callable[[Any], Iterator[tuple[str, str]]]:
    def check_it(value: Any) -> Iterator[tuple[str, str]]:
        if wrong := check(value):
            yield "", wrong

    return check_it


def _dialect(value: Any) -> str | None:
    if not isinstance(value, dict):
        return f"must be a table, not {_kind(value)}"
    for key, inner in value.items():
        if key not in DIALECT_KEYS:
            return f"has an unknown key `{key}`{_meant(key, DIALECT_KEYS)}"
        if not isinstance(inner, DIALECT_KEYS[key]):
            return f"`{key}` must be {'a string' if key == 'event' else 'true or false'}, not {_kind(inner)}"
    return None


_KEYS: dict[str, Callable[[Any], Iterator[tuple[str, str]]]] = {
    "select": _one(_rules),
    "ignore": _one(_rules),
    "extend-select": _one(_rules),
    "exclude": _one(_strings),
    "strict": _one(_flag),
    "per-file-ignores": _each(_rules),
    "versions": _each(_text),
    "dialects": _each(_dialect),
}


def _check(table: Mapping[str, Any], file: Path) -> None:
    """Raises SettingsError for the first key that is unknown or has a wrong value."""
    for key, value in table.items():
        if key not in _KEYS:
            raise SettingsError(f"{_shown(file)}: [tool.amplint] has an unknown key `{key}`{_meant(key, _KEYS)}")
        for below, wrong in _KEYS[key](value):
            raise SettingsError(f"{_shown(file)}: [tool.amplint] `{key}{below}`: {wrong}")


def _meant(key: str, known: Mapping[str, object]) -> str:
    near = get_close_matches(key.replace("_", "-"), known, 1)
    return f"; did you mean `{near[0]}`?" if near else f"; it takes {', '.join(known)}"


def _kind(value: Any) -> str:
    names = {bool: "a boolean", int: "an integer", float: "a float", str: "a string", list: "a list", dict: "a table"}
    if isinstance(value, list):
        strange = [item for item in value if not isinstance(item, str)]
        return f"a list that holds {_kind(strange[0])}" if strange and not isinstance(strange[0], list) else "a list"
    return names.get(type(value), f"a {type(value).__name__}")


def _shown(file: Path) -> str:
    try:
        return str(file.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(file)
