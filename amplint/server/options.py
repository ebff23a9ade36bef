"""What the editor's settings say, besides the configuration of the project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from amplint.settings import Overrides, Settings, load

_FLAGS = ("inlayHints", "unsafeFixes")
_RULES = ("select", "extendSelect", "ignore")
_TEXTS = ("configuration",)
SECTION = "amplint"


@dataclass(frozen=True)
class Options:
    """The settings of an editor. `configuration`: a TOML file to use in place of the project's own; empty for none."""

    hints: bool = False
    unsafe: bool = False
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    configuration: str = ""

    def settings(self) -> Settings:
        """What a check in the working directory is asked to do. Raises SettingsError."""
        said = Overrides(self.select, self.ignore, self.extend_select, unsafe_fixes=self.unsafe or None)
        return load(said, Path(self.configuration) if self.configuration else None)


def options_of(told: object) -> tuple[Options, list[str]]:
    """The options in what an editor sends, with or without the section around it, and what is wrong there; what is
    wrong has no effect, and what other programs read is passed over."""
    table = told if isinstance(told, Mapping) else {}
    inner = table.get(SECTION)
    table = inner if isinstance(inner, Mapping) else table
    wrong = [f"{SECTION}.{key} {why}" for key, value in table.items() if (why := _wrong(key, value))]
    right = {key: value for key, value in table.items() if value is not None and not _wrong(key, value)}
    select = right.get("select")
    made = Options(
        hints=bool(right.get("inlayHints", False)),
        unsafe=bool(right.get("unsafeFixes", False)),
        select=tuple(select) if select is not None else None,
        extend_select=tuple(right.get("extendSelect", ())),
        ignore=tuple(right.get("ignore", ())),
        configuration=str(right.get("configuration", "")),
    )
    return made, wrong


def _wrong(key: object, value: object) -> str:
    """What is wrong with a value; empty if nothing is."""
    if value is None:
        return ""
    if key in _FLAGS and not isinstance(value, bool):
        return "must be true or false"
    if key in _TEXTS and not isinstance(value, str):
        return "must be a string"
    if key in _RULES and not (isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)):
        return "must be a list of strings"
    return ""
