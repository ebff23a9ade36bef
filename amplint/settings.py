"""What a run is asked to do: `[tool.amplint]` of the nearest pyproject.toml and the command line, as one value.

A key that nobody reads, a rule that nobody knows and a value of the wrong type are errors that name the file and the
key: a setting that has no effect is worse than none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from amplint.keys import KEYS, meant
from amplint.selection import ALL, Request, Selection, Severities, misnamed, requests


class SettingsError(Exception):
    """What is wrong with the configuration or an argument, in one line that says what to change."""


class Fixing(Enum):
    """What is done about fixes: each mode does what those before it do not, and a proof costs an analysis."""

    NONE = "no fix is looked for"
    OFFER = "findings are told with the fixes that are proved"
    SHOW = "a patch is told, nothing is written"
    WRITE = "files are mended"


@dataclass(frozen=True)
class Settings:
    """Everything that decides what is reported, and mended. `root` is the folder that patterns are relative to, `file`
    the configuration, None if there is none. `baseline` and `cache_dir` are paths, `output_format` a format's name.

    `fixing`: what is done about fixes; `unsafe_fixes`: those that guess what was meant too; `fixable`: of which
    rules. `since`: a reference of Git; what has not changed since is left out. `declared`: the bounds that folders
    declare, as far as they were asked for.
    """

    root: Path
    selection: Selection = Selection()
    severities: Severities = field(default_factory=Severities)
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    markdown: bool = False
    strict: bool = False
    output_format: str | None = None
    baseline: Path | None = None
    cache_dir: Path | None = None
    file: Path | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    dialects: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    fixing: Fixing = Fixing.NONE
    unsafe_fixes: bool = False
    since: str | None = None
    fixable: Selection = Selection((Request(ALL, True),))
    declared: dict[Path, dict[str, str]] = field(default_factory=dict, compare=False, repr=False)

    def versions_of(self, filename: str) -> dict[str, str]:
        """The bounds of libraries that hold for a file: what is configured, or else declared in the nearest folder."""
        from amplint.requirements import bounds

        folder = Path(filename).absolute().parent
        if folder not in self.declared:
            self.declared[folder] = bounds(folder)
        return {**self.declared[folder], **self.versions}

    def inside(self, filename: str) -> str:
        """A file as patterns name it: relative to the root, with `/`."""
        return os.path.relpath(filename, self.root).replace(os.sep, "/")


@dataclass(frozen=True)
class Overrides:
    """What the command line says; None where it says nothing."""

    select: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    extend_select: Sequence[str] = ()
    exclude: Sequence[str] | None = None
    extend_exclude: Sequence[str] = ()
    force_exclude: bool = False
    strict: bool = False
    unsafe_fixes: bool | None = None
    markdown: bool = False
    since: str | None = None


def load(said: Overrides, config: Path | None = None, isolated: bool = False) -> Settings:
    """The settings of a run started in the working directory. Raises SettingsError."""
    for option in ("select", "ignore", "extend_select"):
        if wrong := misnamed(getattr(said, option) or ()):
            raise SettingsError(f"--{option.replace('_', '-')}: {wrong}")
    here = Path.cwd()
    file = None if isolated else config or _nearest(here)
    table = _extended(file, required=config is not None) if file else {}
    root = file.resolve().parent if file else here
    asked = requests(table.get("select"), table.get("extend-select", ()), table.get("ignore", ()), Selection().requests)
    asked = requests(said.select, said.extend_select, said.ignore, asked)
    per_file = tuple(
        (pattern, tuple(Request(name, False) for name in names))
        for pattern, names in table.get("per-file-ignores", {}).items()
    )
    excluded = table.get("exclude", ()) if said.exclude is None else said.exclude
    return Settings(
        root=root,
        selection=Selection(asked, per_file),
        severities=Severities(tuple(table.get("severity", {}).items())),
        exclude=(*excluded, *table.get("extend-exclude", ()), *said.extend_exclude),
        force_exclude=said.force_exclude or table.get("force-exclude", False),
        markdown=said.markdown or table.get("markdown", False),
        strict=said.strict or table.get("strict", False),
        output_format=table.get("output-format"),
        baseline=Path(table["baseline"]) if "baseline" in table else None,
        cache_dir=Path(table["cache-dir"]) if "cache-dir" in table else None,
        file=file,
        versions=table.get("versions", {}),
        dialects=table.get("dialects", {}),
        since=said.since,
        unsafe_fixes=table.get("unsafe-fixes", False) if said.unsafe_fixes is None else said.unsafe_fixes,
        fixable=Selection(requests(table.get("fixable", [ALL]), (), table.get("unfixable", ()))),
    )


def _extended(file: Path, required: bool, above: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The table of a file, on top of the tables that it extends. Raises SettingsError."""
    if file.resolve() in above:
        raise SettingsError(f"{_shown(file)}: [tool.amplint] `extend` leads back to this file")
    table = _table(file, required)
    _check(table, file)
    table |= {key: str(file.resolve().parent / table[key]) for key in ("baseline", "cache-dir") if key in table}
    if "extend" not in table:
        return table
    below = _extended(file.parent / table["extend"], True, (*above, file.resolve()))
    return {**below, **table}


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
    from amplint import toml

    try:
        return toml.table(text)
    except ValueError as error:  # of TOML or of UTF-8
        raise SettingsError(f"{_shown(file)}: not valid TOML: {error}") from None


def _check(table: Mapping[str, Any], file: Path) -> None:
    """Raises SettingsError for the first key that is unknown or has a wrong value."""
    for key, value in table.items():
        if key not in KEYS:
            raise SettingsError(f"{_shown(file)}: [tool.amplint] has an unknown key `{key}`{meant(key, KEYS)}")
        for below, wrong in KEYS[key].wrongs(value):
            raise SettingsError(f"{_shown(file)}: [tool.amplint] `{key}{below}`: {wrong}")


def _shown(file: Path) -> str:
    try:
        return str(file.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(file)


def shown_settings(settings: Settings) -> str:
    """The settings as people read them: which file they come from, which rules speak, what is left out."""
    speaking = sorted(settings.selection.rules(""))
    lines = [
        f"configuration: {_shown(settings.file) if settings.file else 'none'}",
        f"root: {settings.root}",
        f"exclude: {', '.join(settings.exclude) or 'nothing but the usual'}",
        f"force-exclude: {str(settings.force_exclude).lower()}",
        f"markdown: {str(settings.markdown).lower()}",
        f"strict: {str(settings.strict).lower()}",
        f"output-format: {settings.output_format or 'full'}",
        f"baseline: {settings.baseline or 'none'}",
        *(f"severity: {name}: {severity}" for name, severity in settings.severities.chosen),
        *(f"versions.{name}: {bounds}" for name, bounds in settings.versions_of("").items()),
        *(
            f"per-file-ignores: {pattern}: {', '.join(request.selector for request in silent)}"
            for pattern, silent in settings.selection.per_file
        ),
        f"rules that speak: {len(speaking)}",
        *(f"  {rule}" for rule in speaking),
    ]
    return "\n".join(lines) + "\n"
