"""The options of a program by default, and what a run decides where nobody gives any."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Default: TypeAlias = str | bool | int | float | None

_ASKED = re.compile(r"^(?:\w+\.)*(?P<holder>\w+)\.(?P<name>\w+)(?: (?:==|is) (?P<right>[^ ].*))?$")


@dataclass(frozen=True)
class Defaults:
    """The values of options if nobody gives them, by name. `holders`: what goes by these names has them as attributes,
    and nothing else does."""

    holders: frozenset[str] = frozenset()
    values: Mapping[str, Default] = field(default_factory=dict)

    def of(self, keys: Iterable[str]) -> dict[str, bool]:
        """How those conditions come out by default of which that is written."""
        answers = ((key, self._answer(key)) for key in keys) if self.values else ()
        return {key: answer for key, answer in answers if answer is not None}

    def named(self, text: str) -> str | None:
        """The default of what goes by a text, if it is a name."""
        asked = _ASKED.match(text)
        known = asked is not None and asked["holder"] in self.holders
        value = self.values.get(asked["name"]) if asked is not None and known else None
        return value if isinstance(value, str) and value.isidentifier() else None

    def _answer(self, key: str) -> bool | None:
        asked = _ASKED.match(key)
        if asked is None or asked["holder"] not in self.holders or asked["name"] not in self.values:
            return None
        value, right = self.values[asked["name"]], asked["right"]
        if right is None:
            return bool(value)
        try:
            return bool(value == ast.literal_eval(right))
        except (ValueError, SyntaxError):
            return None


NOTHING = Defaults()
