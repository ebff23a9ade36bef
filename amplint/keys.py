"""What `[tool.amplint]` takes: each key with what it does, and what is wrong with a value of another kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from amplint.dialects.taught import KINDS, wrong_with
from amplint.selection import misnamed

_SEVERITIES = ("error", "warning")

Wrongs = Iterator[tuple[str, str]]
"""What is wrong with a value: where in it (empty: the value itself), and what."""


Schema = dict[str, Any]
"""A part of a JSON Schema."""


@dataclass(frozen=True)
class Key:
    """One key: what it does, an example as TOML, what is wrong with a value, and what JSON Schema says of one."""

    about: str
    example: str
    wrongs: Callable[[Any], Wrongs]
    schema: Schema


def _rules(value: Any) -> str | None:
    return _strings(value) or misnamed(value)


def _strings(value: Any) -> str | None:
    right = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return None if right else f"must be a list of strings, not {_kind(value)}"


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else f"must be true or false, not {_kind(value)}"


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) else f"must be a string, not {_kind(value)}"


def _format(value: Any) -> str | None:
    from amplint.report import FORMATS

    return _text(value) or (None if value in FORMATS else f"there is no format `{value}`{meant(value, FORMATS)}")


def _severity(value: Any) -> str | None:
    return _text(value) or (None if value in _SEVERITIES else f"must be {' or '.join(_SEVERITIES)}, not `{value}`")


def _severities(value: Any) -> Wrongs:
    yield from _each(_severity)(value)
    for name in value if isinstance(value, dict) else ():
        if wrong := misnamed([name]):
            yield f'."{name}"', wrong


def _bounds(value: Any) -> str | None:
    from amplint.catalogue.versions import is_bounds

    if wrong := _text(value):
        return wrong
    return None if is_bounds(value) else f"must be bounds of a version, such as `>=2.4,<3`, not `{value}`"


def _each(check: Callable[[Any], str | None]) -> Callable[[Any], Wrongs]:
    def check_all(value: Any) -> Wrongs:
        if not isinstance(value, dict):
            yield "", f"must be a table, not {_kind(value)}"
            return
        for key, inner in value.items():
            if wrong := check(inner):
                yield f'."{key}"', wrong

    return check_all


def _one(check: Callable[[Any], str | None]) -> Callable[[Any], Wrongs]:
    def check_it(value: Any) -> Wrongs:
        if wrong := check(value):
            yield "", wrong

    return check_it


def _dialects(value: Any) -> Wrongs:
    if not isinstance(value, dict):
        yield "", f"must be a table, not {_kind(value)}"
        return
    for name, table in value.items():
        if wrong := _dialect(table) or wrong_with(name, table):
            yield f'."{name}"', wrong


def _dialect(value: Any) -> str | None:
    if not isinstance(value, dict):
        return f"must be a table, not {_kind(value)}"
    for key, inner in value.items():
        if key not in KINDS:
            return f"has an unknown key `{key}`{meant(key, KINDS)}"
        if not isinstance(inner, KINDS[key]):
            return f"`{key}` must be {'a string' if KINDS[key] is str else 'true or false'}, not {_kind(inner)}"
    return None


def _table(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


_TEXT: Schema = {"type": "string"}
_FLAG: Schema = {"type": "boolean"}
_STRINGS: Schema = {"type": "array", "items": _TEXT}
_RULES: Schema = {"type": "array", "items": {"$ref": "#/definitions/rule"}}
_FORMAT: Schema = {"$ref": "#/definitions/format"}
_SEVERITY: Schema = {"type": "object", "propertyNames": {"$ref": "#/definitions/rule"}} | {
    "additionalProperties": {"enum": list(_SEVERITIES)}
}
_DIALECTS = _table(
    {
        "type": "object",
        "properties": {name: _TEXT if kind is str else _FLAG for name, kind in KINDS.items()},
        "additionalProperties": False,
    }
)

KEYS: dict[str, Key] = {
    "select": Key("The rules that speak: ids, names of families, ALL.", '["scaler", "clipping"]', _one(_rules), _RULES),
    "extend-select": Key("Rules that speak besides those.", '["scheduler-on-skipped-step"]', _one(_rules), _RULES),
    "ignore": Key("Rules that do not speak.", '["dropped-tail-window"]', _one(_rules), _RULES),
    "per-file-ignores": Key(
        "Rules that do not speak in some files.", '{ "tests/**" = ["ALL"] }', _each(_rules), _table(_RULES)
    ),
    "severity": Key(
        "How severe the findings of some rules, or families, are.",
        '{ "clip-after-step" = "warning" }',
        _severities,
        _SEVERITY,
    ),
    "exclude": Key("Files and folders that are left out.", '["third_party/"]', _one(_strings), _STRINGS),
    "extend-exclude": Key("Files and folders that are left out too.", '["*_generated.py"]', _one(_strings), _STRINGS),
    "force-exclude": Key("Leave them out even where they are given by name.", "true", _one(_flag), _FLAG),
    "markdown": Key("Read the Python blocks of Markdown files too.", "true", _one(_flag), _FLAG),
    "strict": Key("Warnings fail too.", "true", _one(_flag), _FLAG),
    "output-format": Key("How to tell, where the command line does not say.", '"concise"', _one(_format), _FORMAT),
    "baseline": Key("A file of findings that are known and not told.", '"amplint-baseline.json"', _one(_text), _TEXT),
    "cache-dir": Key("Where the cache is kept.", '".amplint_cache"', _one(_text), _TEXT),
    "extend": Key("A configuration that this one stands on.", '"../pyproject.toml"', _one(_text), _TEXT),
    "unsafe-fixes": Key("Fixes that guess what was meant are made too.", "true", _one(_flag), _FLAG),
    "fixable": Key("The rules whose findings may be mended.", '["ALL"]', _one(_rules), _RULES),
    "unfixable": Key("The rules whose findings are never mended.", '["missing-loss-division"]', _one(_rules), _RULES),
    "versions": Key("Which versions of libraries are meant.", '{ torch = ">=2.4" }', _each(_bounds), _table(_TEXT)),
    "dialects": Key(
        "What calls of your own engine do.",
        '{ "mylib.Engine.backward" = { event = "backward" } }',
        _dialects,
        _DIALECTS,
    ),
}


def meant(key: str, known: Mapping[str, object]) -> str:
    """The known name that is closest to one that is not, or all of them: the end of a message."""
    near = get_close_matches(key.replace("_", "-"), known, 1)
    return f"; did you mean `{near[0]}`?" if near else f"; it takes {', '.join(known)}"


def _kind(value: Any) -> str:
    names = {bool: "a boolean", int: "an integer", float: "a float", str: "a string", list: "a list", dict: "a table"}
    if isinstance(value, list):
        strange = [item for item in value if not isinstance(item, str)]
        return f"a list that holds {_kind(strange[0])}" if strange and not isinstance(strange[0], list) else "a list"
    return names.get(type(value), f"a {type(value).__name__}")
