"""What a module says of the training that it sets up: how long the windows are, and whether it runs in float16."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from amplint.dialects.syntax import ARGUMENTS, SCALED_FLAG
from amplint.flow import program as ir
from amplint.lower.names import says
from amplint.lower.repeated_divisions import WINDOWS
from amplint.lower.scopes import Scope

_SETTINGS = re.compile(rf"({'|'.join(sorted(ARGUMENTS))})\b.*(Arguments|Config)$")


class Length(Enum):
    """How many micro-steps a window has, as far as a module says."""

    ONE = "one, as it is set, or by default"
    SET = "a number that is set, and is not one for certain"
    UNKNOWN = "nothing in sight sets it"


@dataclass(frozen=True)
class Settings:
    """How long windows are, and whether losses carry a loss scale for certain."""

    window: Length
    scaled: bool


def settings_of(nodes: Iterable[object], scope: Scope) -> Settings:
    """What the calls of a module say."""
    calls = [node for node in nodes if isinstance(node, ir.Call)]
    made = [call for call in calls if _SETTINGS.match(scope.qualified(call.func) or "")]
    flags = [dict(call.keywords).get(SCALED_FLAG) for call in made]
    scaled = bool(flags) and all(says(flag, True) for flag in flags)
    return Settings(_length(calls, made), scaled)


def _length(calls: Sequence[ir.Call], made: Sequence[ir.Call]) -> Length:
    """By default a window has one micro-step (transformers 5.24, `TrainingArguments`)."""
    said = [value for call in calls for name, value in call.keywords if name in WINDOWS]
    if said:
        return Length.ONE if all(isinstance(one, ir.Const) and one.value == 1 for one in said) else Length.SET
    whole = bool(made) and not any(call.starred for call in made)
    return Length.ONE if whole else Length.UNKNOWN
